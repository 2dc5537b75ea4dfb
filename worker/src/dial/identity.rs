//! Identity of a worker: a key that never leaves this process, and the certificate that a master issued for it.

use super::trust::{Trust, client_config};
use compass_proto::v1;
use compass_types::ids::Digest;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// Reason why no identity could be made; the network is not the cause.
#[derive(Debug, thiserror::Error)]
pub(super) enum IdentityError {
    #[error("cannot generate a key")]
    Key(#[from] rcgen::Error),
    #[error("cannot use the certificate issued by the master")]
    Certificate(#[from] tokio_rustls::rustls::Error),
    #[error("the master issued no certificate")]
    Missing,
}

/// Key of this process.
pub(super) struct OwnKey(KeyPair);

impl std::fmt::Debug for OwnKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnKey(..)")
    }
}

/// Certificate issued by a master, as a TLS configuration with its lifetime.
pub(super) struct Identity {
    pub(super) authority: Digest,
    pub(super) config: Arc<ClientConfig>,
    pub(super) foreign: Arc<AtomicBool>,
    until: Instant,
    renewal: Instant,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("authority", &self.authority).finish_non_exhaustive()
    }
}

impl OwnKey {
    pub(super) fn generate() -> Result<Self, IdentityError> {
        Ok(Self(KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?))
    }

    fn private(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.0.serialize_der()).into()
    }

    /// Returns the TLS configuration for enrolling, with a self-signed certificate, which proves in the handshake that
    /// the worker holds the key.
    pub(super) fn enrolment_config(&self, trust: Trust) -> Result<(ClientConfig, Arc<AtomicBool>), IdentityError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "compass-worker");
        let own = params.self_signed(&self.0)?;
        Ok(client_config(trust, Some((vec![own.der().clone()], self.private())))?)
    }

    /// Returns the identity of this key with the certificate from an enrolment or a renewal.
    pub(super) fn identity(&self, authority: Digest, answer: v1::Enrolled) -> Result<Identity, IdentityError> {
        let chain: Vec<CertificateDer<'static>> = answer.chain.into_iter().map(CertificateDer::from).collect();
        if chain.is_empty() {
            return Err(IdentityError::Missing);
        }
        let (config, foreign) = client_config(Trust::Authority(authority), Some((chain, self.private())))?;
        let (now, life) = (Instant::now(), Duration::from_secs(answer.valid_seconds));
        Ok(Identity { authority, config: config.into(), foreign, until: now + life, renewal: now + life * 2 / 3 })
    }
}

impl Identity {
    /// Returns whether masters still accept the certificate in a second.
    pub(super) fn is_good(&self) -> bool {
        Instant::now() + Duration::from_secs(1) < self.until
    }

    /// Time of the next renewal.
    pub(super) fn renewal(&self) -> Instant {
        self.renewal
    }
}
