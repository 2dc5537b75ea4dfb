//! The authority of all masters of a store: made once by the first of them, changed by compare-and-swap.
//!
//! A use of a token is durable before its certificate is sent. A revocation elsewhere is noticed within
//! [`LOOK`], by sessions that are open as well.

use super::certificates::{CertificateError, CertificateIdentity, Credentials, PeerKey, Signer, Verification, found};
use super::refusal::Refusal;
use super::register::{EnrolmentRequest, Register, TokenTerms};
use super::vault::{Vault, VaultError, random};
use compass_common::encode::{self, EncodeError};
use compass_common::join_token::JoinToken;
use compass_settings::{AuthorityConfig, StoreConfig};
use compass_store::{SharedValue, StoreError};
use compass_types::ids::Digest;
use compass_types::secret::Secret;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::{Mutex, watch};
use tokio_rustls::rustls::pki_types::CertificateDer;

/// Interval at which the store is asked for revocations.
const LOOK: Duration = Duration::from_secs(2);
/// Others that change the register at the same time; each of them has succeeded once.
const TRIES: u32 = 1_000;
const FOLDER: &str = "authority";
const FILE: &str = "register";
/// The token of a master that listens admits for so long, and is prolonged while it does.
const OWN_TOKEN_SECONDS: u64 = 24 * 3_600;

/// Reason why the authority cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error(transparent)]
    Encode(#[from] EncodeError),
    #[error("the authority in the store was written by a newer version; install the same version on every master")]
    Newer,
    #[error("the authority in the store changes too often to be changed")]
    Busy,
}

/// Certificate authority that the masters of a store share.
#[derive(Debug)]
pub struct Authority {
    value: SharedValue,
    vault: Vault,
    signer: Signer,
    certificate_seconds: u64,
    /// One change at a time within this process.
    changing: Mutex<()>,
    known: watch::Sender<Arc<Register>>,
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs()
}

impl Authority {
    /// Opens the authority of this store, and makes one if necessary.
    ///
    /// # Errors
    /// See [`AuthorityError`].
    pub async fn open(config: &AuthorityConfig) -> Result<Self, AuthorityError> {
        let value = match &config.store {
            StoreConfig::Embedded => SharedValue::in_folder(&config.state_dir.join(FOLDER), FILE),
            StoreConfig::Etcd(etcd) => SharedValue::in_etcd(etcd, FOLDER)?,
        };
        let vault = Vault::open(&config.key_file)?;
        let register = loop {
            match value.load().await? {
                Some(sealed) => break read(&vault, &sealed)?,
                None => {
                    let first = Register::new(found(now())?);
                    value.swap(None, &write(&vault, &first)?).await?;
                }
            }
        };
        let signer = Signer::open(&register.authority)?;
        let certificate_seconds = config.certificate_seconds;
        let (changing, known) = (Mutex::new(()), watch::Sender::new(Arc::new(register)));
        Ok(Self { value, vault, signer, certificate_seconds, changing, known })
    }

    /// Returns what all masters of its store, and no others, have in common.
    pub fn digest(&self) -> Digest {
        self.signer.digest()
    }

    /// Returns the register as known now.
    pub fn register(&self) -> Arc<Register> {
        self.known.borrow().clone()
    }

    /// Returns a receiver that is notified when the register changes.
    pub fn changes(&self) -> watch::Receiver<Arc<Register>> {
        self.known.subscribe()
    }

    /// A new certificate for a master.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn credentials(&self) -> Result<Credentials, AuthorityError> {
        Ok(self.signer.server(now())?)
    }

    /// Verifies the certificate of a peer now.
    pub fn judge(&self, chain: &[CertificateDer<'static>]) -> Verification {
        self.signer.judge(chain, now())
    }

    /// Applies a change, durably; a refused change is not written.
    async fn change<T, E>(
        &self,
        change: impl Fn(&mut Register) -> Result<T, E>,
    ) -> Result<Result<T, E>, AuthorityError> {
        let _one = self.changing.lock().await;
        for _ in 0..TRIES {
            let sealed = self.value.load().await?.ok_or(AuthorityError::Busy)?;
            let mut register = read(&self.vault, &sealed)?;
            let done = match change(&mut register) {
                Ok(done) => done,
                Err(refusal) => return Ok(Err(refusal)),
            };
            let changed = write(&self.vault, &register)?;
            if self.value.swap(Some(&sealed), &changed).await? {
                self.known.send_replace(Arc::new(register));
                return Ok(Ok(done));
            }
        }
        Err(AuthorityError::Busy)
    }

    async fn alter<T>(&self, alter: impl Fn(&mut Register) -> T) -> Result<T, AuthorityError> {
        let done = self.change(|register| Ok::<_, std::convert::Infallible>(alter(register))).await?;
        done.map_err(|never| match never {})
    }

    /// A new token; `terms.expires` counts from 1970.
    ///
    /// # Errors
    /// See [`AuthorityError`].
    pub async fn create_token(&self, terms: TokenTerms) -> Result<JoinToken, AuthorityError> {
        let (id, secret) = (hexadecimal(&random::<4>()?), Secret::new(hexadecimal(&random::<24>()?)));
        self.alter(|register| register.create(id.clone(), &secret, terms.clone(), now())).await?;
        Ok(JoinToken { id, secret, authority: self.signer.digest() })
    }

    /// The token of a master that listens, for as many workers as come.
    ///
    /// # Errors
    /// See [`AuthorityError`].
    pub async fn own_token(&self, note: String) -> Result<JoinToken, AuthorityError> {
        let expires = now() + OWN_TOKEN_SECONDS;
        self.create_token(TokenTerms { pool: String::new(), expires, uses: None, note }).await
    }

    /// Keeps the token `own` alive while the future that holds this one runs, and notices changes by others.
    pub async fn attend(self: Arc<Self>, own: String) {
        let mut prolonged = now();
        loop {
            tokio::time::sleep(LOOK).await;
            let now = now();
            if now >= prolonged + OWN_TOKEN_SECONDS / 2 {
                let done = self.alter(|register| register.prolong(&own, now + OWN_TOKEN_SECONDS)).await;
                prolonged = if done.is_ok() { now } else { prolonged };
            }
            if let Err(error) = self.look().await {
                tracing::debug!(%error, "cannot look at the authority");
            }
        }
    }

    /// No worker can join with this token any more; workers that have joined stay.
    ///
    /// # Errors
    /// See [`AuthorityError`].
    pub async fn retire(&self, own: &str) -> Result<(), AuthorityError> {
        self.alter(|register| register.prolong(own, now())).await
    }

    async fn look(&self) -> Result<(), AuthorityError> {
        if let Some(sealed) = self.value.load().await? {
            let register = Arc::new(read(&self.vault, &sealed)?);
            self.known.send_replace(register);
        }
        Ok(())
    }

    /// Admits a worker: counts the use of its token, then makes its certificate.
    ///
    /// # Errors
    /// The refusal inside; outside, the authority cannot be used.
    pub async fn enrol(
        &self,
        token: &str,
        secret: &Secret,
        enrolment: EnrolmentRequest<'_>,
        certificate: &CertificateDer<'_>,
    ) -> Result<Result<Vec<CertificateDer<'static>>, Refusal>, AuthorityError> {
        let Some(key) = PeerKey::of(certificate) else { return Ok(Err(Refusal::Unknown)) };
        let digest = key.digest();
        let joined = self.change(|register| register.join(token, secret, enrolment, &digest, now())).await?;
        match joined {
            Ok(()) => Ok(Ok(self.certify(&key, enrolment.worker, token)?)),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Gives the identity of a certificate another one for the same key.
    ///
    /// # Errors
    /// As [`Self::enrol`].
    pub fn renew(
        &self,
        identity: &CertificateIdentity,
        certificate: &CertificateDer<'_>,
    ) -> Result<Result<Vec<CertificateDer<'static>>, Refusal>, AuthorityError> {
        let Some(key) = PeerKey::of(certificate) else { return Ok(Err(Refusal::Unknown)) };
        match self.register().admits(&identity.token, &identity.worker) {
            Ok(()) => Ok(Ok(self.certify(&key, &identity.worker, &identity.token)?)),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    fn certify(
        &self,
        key: &PeerKey,
        worker: &str,
        token: &str,
    ) -> Result<Vec<CertificateDer<'static>>, AuthorityError> {
        let now = now();
        let until = now + self.certificate_seconds;
        let identity = CertificateIdentity { worker: worker.to_owned(), token: token.to_owned(), until };
        Ok(self.signer.worker(key, &identity, now)?)
    }

    /// Returns how long a new certificate is valid.
    pub fn certificate_seconds(&self) -> u64 {
        self.certificate_seconds
    }

    /// Revokes a token and what it brought; `false` if no token has this id.
    ///
    /// # Errors
    /// See [`AuthorityError`].
    pub async fn revoke(&self, id: &str) -> Result<bool, AuthorityError> {
        self.alter(|register| register.revoke(id, now())).await
    }

    /// Bars a worker by name, or lets it join again.
    ///
    /// # Errors
    /// See [`AuthorityError`].
    pub async fn bar(&self, worker: &str) -> Result<(), AuthorityError> {
        self.alter(|register| register.bar(worker)).await
    }

    /// Lets a barred worker join again; false when it was not barred.
    ///
    /// # Errors
    /// See [`AuthorityError`].
    pub async fn unbar(&self, worker: &str) -> Result<bool, AuthorityError> {
        self.alter(|register| register.unbar(worker)).await
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(vault: &Vault, sealed: &[u8]) -> Result<Register, AuthorityError> {
    let register: Register = serde_json::from_slice(&vault.unseal(sealed)?).map_err(|_| AuthorityError::Newer)?;
    if register.is_known() { Ok(register) } else { Err(AuthorityError::Newer) }
}

fn write(vault: &Vault, register: &Register) -> Result<Vec<u8>, AuthorityError> {
    Ok(vault.seal(&encode::json("the register of the authority", register)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair};

    fn config(state: &std::path::Path) -> AuthorityConfig {
        AuthorityConfig {
            state_dir: state.to_owned(),
            store: StoreConfig::Embedded,
            key_file: state.join("authority.key"),
            certificate_seconds: 60,
        }
    }

    fn own_certificate() -> CertificateDer<'static> {
        CertificateParams::default().self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    fn called(worker: &str) -> EnrolmentRequest<'_> {
        EnrolmentRequest { worker, pool: "" }
    }

    fn terms(uses: u32) -> TokenTerms {
        TokenTerms { pool: "s".into(), expires: now() + 60, uses: Some(uses), note: String::new() }
    }

    #[tokio::test]
    async fn masters_of_one_store_are_one_authority() {
        let state = tempfile::tempdir().unwrap();
        let config = config(state.path());
        let (a, b) = tokio::join!(Authority::open(&config), Authority::open(&config));
        let (a, b) = (a.unwrap(), b.unwrap());
        let token = a.create_token(terms(1)).await.unwrap();
        assert_eq!(token.authority, b.signer.digest());
        let own = own_certificate();
        let chain = b.enrol(&token.id, &token.secret, called("w"), &own).await.unwrap().unwrap();
        assert!(
            matches!(a.judge(&chain), Verification::Identity(identity) if identity.worker == "w" && identity.token == token.id)
        );
        let replayed = a.enrol(&token.id, &token.secret, called("v"), &own_certificate()).await.unwrap();
        assert_eq!(replayed, Err(Refusal::Spent { id: token.id.clone(), uses: 1 }));
        // The same worker, whose answer got lost.
        assert!(a.enrol(&token.id, &token.secret, called("w"), &own).await.unwrap().is_ok());
        let identity = CertificateIdentity { worker: "w".into(), token: token.id.clone(), until: 0 };
        assert!(b.renew(&identity, &own).unwrap().is_ok());
        assert!(a.revoke(&token.id).await.unwrap());
        b.look().await.unwrap();
        assert_eq!(b.renew(&identity, &own).unwrap(), Err(Refusal::Revoked { id: token.id }));
    }

    #[tokio::test]
    async fn uses_hold_when_many_come_at_once_to_several_masters() {
        let state = tempfile::tempdir().unwrap();
        let first = Authority::open(&config(state.path())).await.unwrap();
        let token = Arc::new(first.create_token(terms(5)).await.unwrap());
        let masters = [first, Authority::open(&config(state.path())).await.unwrap()].map(Arc::new);
        let tries: Vec<_> = (0..20)
            .map(|n| {
                let (master, token) = (masters[n % 2].clone(), token.clone());
                tokio::spawn(async move {
                    master.enrol(&token.id, &token.secret, called("w"), &own_certificate()).await.unwrap().is_ok()
                })
            })
            .collect();
        let mut admitted = 0;
        for each in tries {
            admitted += u32::from(each.await.unwrap());
        }
        assert_eq!(admitted, 5);
    }

    #[tokio::test]
    async fn a_key_file_that_is_anothers_is_named() {
        let state = tempfile::tempdir().unwrap();
        Authority::open(&config(state.path())).await.unwrap();
        let other = AuthorityConfig { key_file: state.path().join("other.key"), ..config(state.path()) };
        let error = Authority::open(&other).await.unwrap_err().to_string();
        assert!(error.contains("sealed with another key") && error.contains("other.key"), "{error}");
    }

    #[tokio::test]
    async fn what_is_kept_shows_no_secret() {
        let state = tempfile::tempdir().unwrap();
        let authority = Authority::open(&config(state.path())).await.unwrap();
        let token = authority.create_token(terms(1)).await.unwrap();
        let kept = std::fs::read(state.path().join("authority/register")).unwrap();
        let shown = format!("{authority:?}");
        for secret in [token.id.as_bytes(), token.secret.expose().as_bytes(), b"certificate"] {
            assert!(!kept.windows(secret.len()).any(|window| window == secret));
        }
        assert!(!shown.contains(token.secret.expose()));
    }
}
