//! The authority's certificates: its own, the masters', the workers'; and the verification of certificates of peers.
//!
//! A worker's certificate names its owner in a URI: `compass:<name, hexadecimal>:<token>:<until, seconds since 1970>`.

use super::register::KeptAuthority;
use super::vault::{VaultError, random};
use compass_types::ids::Digest;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PublicKeyData, SanType, SerialNumber, SignatureAlgorithm,
};
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::{self, RootCertStore};
use webpki::EndEntityCert;

/// Name in every master's certificate. Workers know the authority, whatever the host is called through proxies and NAT.
pub const SERVER_NAME: &str = "compass-master";

const AUTHORITY_NAME: &str = "compass authority";
const DAY: u64 = 24 * 3_600;
const AUTHORITY_SECONDS: u64 = 20 * 365 * DAY;
const SERVER_SECONDS: u64 = 366 * DAY;
/// Largest difference of clocks, in seconds.
const SKEW: u64 = DAY;
const URI: &str = "compass";
/// DER of a subject public key info on curve P-256, before the point.
const P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
const POINT_BYTES: usize = 65;

/// A certificate cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("a certificate cannot be made")]
    Make(#[from] rcgen::Error),
    #[error("the certificates of the authority cannot be used")]
    Use(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// A master's chain and key.
#[derive(Debug)]
pub struct Credentials {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

/// The public key of a peer, who proved in the handshake that it holds the other half.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PeerKey(Vec<u8>);

/// Identity in a certificate of the authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateIdentity {
    pub worker: String,
    /// The token that brought it.
    pub token: String,
    /// Seconds since 1970.
    pub until: u64,
}

/// Result of verifying a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verification {
    Identity(CertificateIdentity),
    /// It proves that its identity holds a key, and nothing else: a peer that wants to enrol.
    OwnKey,
    Expired,
    /// Issued by another authority, or not meant for workers.
    Foreign,
}

/// The authority at work.
pub(super) struct Signer {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").field("authority", &self.digest()).finish_non_exhaustive()
    }
}

impl PublicKeyData for PeerKey {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_ECDSA_P256_SHA256
    }
}

impl PeerKey {
    /// The key of a certificate; `None` where it is on no curve that we use.
    pub(super) fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let certificate = EndEntityCert::try_from(certificate).ok()?;
        let info = certificate.subject_public_key_info();
        let point = info.as_ref().strip_prefix(P256.as_slice())?;
        (point.len() == POINT_BYTES).then(|| Self(point.to_vec()))
    }

    /// Returns the digest by which it is known.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(&self.0)
    }
}

fn dated(from: u64, until: u64) -> CertificateParams {
    let at = |seconds| rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds);
    let mut params = CertificateParams::default();
    (params.not_before, params.not_after) = (at(from), at(until));
    params
}

fn named(mut params: CertificateParams, name: &str) -> Result<CertificateParams, CertificateError> {
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.serial_number = Some(SerialNumber::from(random::<16>()?.to_vec()));
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

fn authority_params(now: u64) -> Result<CertificateParams, CertificateError> {
    let mut params = named(dated(now.saturating_sub(SKEW), now + AUTHORITY_SECONDS), AUTHORITY_NAME)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    Ok(params)
}

/// A new authority.
pub(super) fn found(now: u64) -> Result<KeptAuthority, CertificateError> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let certificate = authority_params(now)?.self_signed(&key)?;
    Ok(KeptAuthority { certificate: certificate.der().to_vec(), key: key.serialize_der() })
}

impl Signer {
    pub(super) fn open(kept: &KeptAuthority) -> Result<Self, CertificateError> {
        let key = PrivatePkcs8KeyDer::from(kept.key.clone());
        let key = KeyPair::from_pkcs8_der_and_sign_algo(&key, &PKCS_ECDSA_P256_SHA256)?;
        let certificate = CertificateDer::from(kept.certificate.clone());
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).map_err(|error| CertificateError::Use(error.into()))?;
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), default_provider().into()).build();
        let verifier = verifier.map_err(|error| CertificateError::Use(error.into()))?;
        // Of the parameters an issuer takes its name and what its key is for; they are the same for every authority.
        Ok(Self { certificate, issuer: Issuer::new(authority_params(0)?, key), verifier })
    }

    /// Returns the digest by which workers know the authority.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(&self.certificate)
    }

    /// A master's own certificate, with a new key.
    pub(super) fn server(&self, now: u64) -> Result<Credentials, CertificateError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let mut params = named(dated(now.saturating_sub(SKEW), now + SERVER_SECONDS), SERVER_NAME)?;
        params.subject_alt_names = vec![SanType::DnsName(SERVER_NAME.try_into()?)];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&key, &self.issuer)?;
        let chain = vec![certificate.der().clone(), self.certificate.clone()];
        Ok(Credentials { chain, key: PrivatePkcs8KeyDer::from(key.serialize_der()).into() })
    }

    /// A certificate for a worker's key, with the authority's own behind it.
    pub(super) fn worker(
        &self,
        key: &PeerKey,
        identity: &CertificateIdentity,
        now: u64,
    ) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
        let mut params = named(dated(now.saturating_sub(SKEW), identity.until), "compass-worker")?;
        params.subject_alt_names = vec![SanType::URI(identity.to_uri().try_into()?)];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(key, &self.issuer)?;
        Ok(vec![certificate.der().clone(), self.certificate.clone()])
    }

    /// Verifies the certificate of a peer at `now`.
    pub(super) fn judge(&self, chain: &[CertificateDer<'static>], now: u64) -> Verification {
        let Some((certificate, others)) = chain.split_first() else { return Verification::Foreign };
        let at = UnixTime::since_unix_epoch(Duration::from_secs(now));
        match self.verifier.verify_client_cert(certificate, others, at) {
            Ok(_) => {
                let identity = EndEntityCert::try_from(certificate)
                    .ok()
                    .and_then(|certificate| certificate.valid_uri_names().find_map(CertificateIdentity::from_uri));
                identity.map_or(Verification::Foreign, Verification::Identity)
            }
            Err(rustls::Error::InvalidCertificate(
                rustls::CertificateError::Expired | rustls::CertificateError::ExpiredContext { .. },
            )) => Verification::Expired,
            Err(_) => match EndEntityCert::try_from(certificate) {
                Ok(certificate) if certificate.issuer() == certificate.subject() => Verification::OwnKey,
                _ => Verification::Foreign,
            },
        }
    }
}

impl CertificateIdentity {
    fn to_uri(&self) -> String {
        let name: String = self.worker.bytes().map(|byte| format!("{byte:02x}")).collect();
        format!("{URI}:{name}:{}:{}", self.token, self.until)
    }

    fn from_uri(uri: &str) -> Option<Self> {
        let mut pieces = uri.split(':');
        if pieces.next()? != URI {
            return None;
        }
        let (name, token, until) = (pieces.next()?, pieces.next()?, pieces.next()?.parse().ok()?);
        let bytes = name.as_bytes().chunks(2).map(|pair| {
            let pair = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        });
        let worker = String::from_utf8(bytes.collect::<Option<Vec<_>>>()?).ok()?;
        Some(Self { worker, token: token.to_owned(), until })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn identity() -> CertificateIdentity {
        CertificateIdentity { worker: "gpu-node 7/ä".into(), token: "abc".into(), until: NOW + 60 }
    }

    fn own(key: &KeyPair) -> CertificateDer<'static> {
        CertificateParams::default().self_signed(key).unwrap().der().clone()
    }

    #[test]
    fn a_certificate_says_whose_it_is_until_it_expires() {
        let signer = Signer::open(&found(NOW).unwrap()).unwrap();
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let own = own(&key);
        assert_eq!(signer.judge(std::slice::from_ref(&own), NOW), Verification::OwnKey);
        let peer = PeerKey::of(&own).unwrap();
        let chain = signer.worker(&peer, &identity(), NOW).unwrap();
        assert_eq!(PeerKey::of(&chain[0]), Some(peer));
        assert_eq!(signer.judge(&chain, NOW), Verification::Identity(identity()));
        assert_eq!(signer.judge(&chain, NOW + 61), Verification::Expired);
        let other = Signer::open(&found(NOW).unwrap()).unwrap();
        assert_eq!(other.judge(&chain, NOW), Verification::Foreign);
        assert_ne!(other.digest(), signer.digest());
        assert_eq!(signer.judge(&[], NOW), Verification::Foreign);
    }

    #[test]
    fn a_masters_certificate_makes_no_worker() {
        let signer = Signer::open(&found(NOW).unwrap()).unwrap();
        let credentials = signer.server(NOW).unwrap();
        assert_eq!(signer.judge(&credentials.chain, NOW), Verification::Foreign);
        assert_eq!(Digest::of(&credentials.chain[1]), signer.digest());
        // Nor does the authority's own.
        assert_eq!(signer.judge(&credentials.chain[1..], NOW), Verification::OwnKey);
    }

    #[test]
    fn one_authority_signs_wherever_it_is_opened() {
        let kept = found(NOW).unwrap();
        let (here, there) = (Signer::open(&kept).unwrap(), Signer::open(&kept).unwrap());
        let key = PeerKey::of(&own(&KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap())).unwrap();
        let chain = here.worker(&key, &identity(), NOW).unwrap();
        assert_eq!(there.judge(&chain, NOW), Verification::Identity(identity()));
    }

    #[test]
    fn keys_of_other_kinds_are_none() {
        let key = KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
        assert_eq!(PeerKey::of(&own(&key)), None);
        assert_eq!(PeerKey::of(&CertificateDer::from(vec![1, 2, 3])), None);
    }
}
