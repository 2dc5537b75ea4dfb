//! TLS with a certificate of a test's own, which no system trusts.

use rcgen::{CertificateParams, KeyPair};
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A certificate with its key.
#[derive(Clone)]
pub struct Certificate {
    pem: String,
    key_pem: String,
    config: Arc<ServerConfig>,
}

impl Certificate {
    /// A certificate for hosts of these names.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(names: &[&str]) -> io::Result<Self> {
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(io::Error::other)?;
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let made = CertificateParams::new(names).and_then(|parameters| parameters.self_signed(&key));
        let certificate = made.map_err(io::Error::other)?.der().clone();
        let (pem, key_pem) = (pem("CERTIFICATE", &certificate), pem("PRIVATE KEY", &key.serialize_der()));
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(vec![certificate], key))
            .map_err(io::Error::other)?;
        Ok(Self { pem, key_pem, config: Arc::new(config) })
    }

    /// Returns the certificate for a client that trusts it, for example by SSL_CERT_FILE.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Its private key, as servers read it.
    pub fn key_pem(&self) -> &str {
        &self.key_pem
    }

    /// The server's end of a connection.
    pub(crate) fn accept(&self, stream: TcpStream) -> io::Result<StreamOwned<ServerConnection, TcpStream>> {
        let connection = ServerConnection::new(self.config.clone()).map_err(io::Error::other)?;
        Ok(StreamOwned::new(connection, stream))
    }
}

/// The text form of what `label` names (RFC 7468).
fn pem(label: &str, der: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in der.chunks(48) {
        for three in line.chunks(3) {
            let bits = (0..3).fold(0u32, |bits, at| (bits << 8) | u32::from(three.get(at).copied().unwrap_or(0)));
            for at in 0..4 {
                let letter = LETTERS.get(((bits >> (18 - 6 * at)) & 63) as usize).copied().unwrap_or(b'=');
                text.push(if at > three.len() { '=' } else { char::from(letter) });
            }
        }
        text.push('\n');
    }
    text + &format!("-----END {label}-----\n")
}
