//! Join of a worker that a test plays: with the token that the master left, as any worker does.

use crate::job::Job;
use crate::processes::wait_until;
use compass_common::join_token::JoinToken;
use compass_proto::v1::enrolment_client::EnrolmentClient;
use compass_proto::{OLDEST_PROTOCOL, PROTOCOL_VERSION, v1};
use hyper_util::rt::TokioIo;
use rcgen::{CertificateParams, KeyPair};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring::default_provider, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{self, ClientConfig, DigitallySignedStruct, SignatureScheme};
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

/// Reason why a played worker did not join.
pub type JoinError = Box<dyn Error + Send + Sync>;

/// The file with the token that a master of this job has left in its state folder: for workers that reach the master at
/// another port than its own, and for those that are played.
pub fn join_token_file(job: &Job) -> PathBuf {
    let left = job.path("state/join");
    wait_until("a master leaves its join token", || {
        let entries = std::fs::read_dir(&left).ok()?.flatten().map(|entry| entry.path());
        let whole = |path: &PathBuf| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'));
        entries.filter(whole).max()
    })
}

/// A connection to the master at `address` that has joined under the name `worker`.
///
/// # Errors
/// The token cannot be read, or the master does not let the worker in.
pub async fn joined_channel(address: &str, token: &Path, worker: &str) -> Result<Channel, JoinError> {
    let token = JoinToken::parse(&std::fs::read_to_string(token)?)?;
    let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
    let own = CertificateParams::default().self_signed(&key)?.der().clone();
    let request = v1::EnrolRequest {
        protocol: PROTOCOL_VERSION,
        oldest_protocol: OLDEST_PROTOCOL,
        worker: worker.to_owned(),
        token_id: token.id.clone(),
        token_secret: token.secret.expose().to_owned(),
        pool: String::new(),
    };
    let unauthenticated = encrypted(address, vec![own], &key).await?;
    let answer = EnrolmentClient::new(unauthenticated).enrol(request).await?.into_inner();
    encrypted(address, answer.chain.into_iter().map(CertificateDer::from).collect(), &key).await
}

async fn encrypted(address: &str, chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> Result<Channel, JoinError> {
    let provider = Arc::new(default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_protocol_versions(&[&TLS13])?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyMaster(provider)));
    let mut config = builder.with_client_auth_cert(chain, PrivatePkcs8KeyDer::from(key.serialize_der()).into())?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    let (config, target) = (Arc::new(config), address.to_owned());
    let connector = service_fn(move |_| {
        let (config, target) = (config.clone(), target.clone());
        async move {
            let stream = TcpStream::connect(target).await?;
            // As workers do: small frames that wait for each other's acknowledgement are 40 ms late.
            stream.set_nodelay(true)?;
            let name = ServerName::try_from("compass-master").map_err(std::io::Error::other)?;
            TlsConnector::from(config).connect(name, stream).await.map(TokioIo::new)
        }
    });
    Ok(Endpoint::from_shared(format!("http://{address}"))?.connect_with_connector(connector).await?)
}

/// Trusts every master: what a test plays has nothing to lose.
#[derive(Debug)]
struct AnyMaster(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyMaster {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _others: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.3 is spoken here".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
