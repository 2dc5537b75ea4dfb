//! Trust in masters: a worker trusts those whose certificate is signed by the authority named in its token.
//!
//! Behind NAT and proxies a host has many names, so names are not checked. The master presents the authority's
//! certificate with its own, and the authority's digest identifies it.

use compass_types::ids::Digest;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring::default_provider, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// Name in the certificate of every master.
pub(super) const SERVER_NAME: &str = "compass-master";

/// Masters to trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Masters of the authority with this digest.
    Authority(Digest),
    /// Any master: only for a probe, which sends no secret.
    Unverified,
}

/// Returns the TLS configuration; `own` is the worker's chain and key. After the handshake, the flag is set if the
/// master belongs to another authority.
pub(super) fn client_config(
    trust: Trust,
    own: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
) -> Result<(ClientConfig, Arc<AtomicBool>), rustls::Error> {
    let provider = Arc::new(default_provider());
    let foreign = Arc::new(AtomicBool::new(false));
    let verifier = Arc::new(Pinned { trust, provider: provider.clone(), foreign: foreign.clone() });
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13])?;
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = match own {
        Some((chain, key)) => builder.with_client_auth_cert(chain, key)?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    config.resumption = rustls::client::Resumption::disabled();
    Ok((config, foreign))
}

#[derive(Debug)]
struct Pinned {
    trust: Trust,
    provider: Arc<CryptoProvider>,
    foreign: Arc<AtomicBool>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Trust::Authority(digest) = self.trust else { return Ok(ServerCertVerified::assertion()) };
        let Some(authority) = others.iter().find(|other| Digest::of(other) == digest) else {
            self.foreign.store(true, Ordering::Relaxed);
            return Err(rustls::CertificateError::UnknownIssuer.into());
        };
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone().into_owned())?;
        let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), self.provider.clone()).build();
        let verifier = verifier.map_err(|error| rustls::Error::General(error.to_string()))?;
        let name = ServerName::try_from(SERVER_NAME).map_err(|error| rustls::Error::General(error.to_string()))?;
        verifier.verify_server_cert(certificate, &[], &name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.3 is required".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
