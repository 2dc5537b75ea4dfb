//! Seals everything that leaves this process: the key of the authority is in a store that others may read.
//!
//! ChaCha20-Poly1305 with a random nonce; the sealing key is in a file of mode 0600 that the masters of one store share.

use compass_common::regular_file;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const KEY_BYTES: usize = 32;
/// Purpose and format to which sealed bytes are bound.
const PURPOSE: &[u8] = b"compass authority 1";

/// Reason why the key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error("cannot {action} the key of the authority, {path}")]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path} is not a key of an authority; restore it, or name another `key_file` in [master]")]
    Damaged { path: PathBuf },
    #[error("others may read {path}, the key of the authority; take their rights away: chmod 600 {path}")]
    Exposed { path: PathBuf },
    #[error(
        "the authority in the store was sealed with another key than {path}; copy the key file of the master that made it, \
         or name it as `key_file` in [master]"
    )]
    Foreign { path: PathBuf },
    #[error("cannot read from the OS random number generator")]
    Random,
}

/// Key that seals what leaves this process.
pub struct Vault {
    key: LessSafeKey,
    path: PathBuf,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vault").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Vault {
    /// Reads the key in the file, and makes one if necessary.
    ///
    /// # Errors
    /// See [`VaultError`].
    pub fn open(path: &Path) -> Result<Self, VaultError> {
        let bytes = match regular_file::read(path, regular_file::SMALL) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make(path)?;
                regular_file::read(path, regular_file::SMALL)
            }
            other => other,
        };
        let bytes = bytes.map_err(failed("read", path))?;
        let mode = std::fs::metadata(path).map_err(failed("read", path))?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(VaultError::Exposed { path: path.to_owned() });
        }
        if bytes.len() != KEY_BYTES {
            return Err(VaultError::Damaged { path: path.to_owned() });
        }
        let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes);
        let key = key.map_err(|_| VaultError::Damaged { path: path.to_owned() })?;
        Ok(Self { key: LessSafeKey::new(key), path: path.to_owned() })
    }

    /// Nonce, then the sealed bytes.
    ///
    /// # Errors
    /// [`VaultError::Random`].
    pub fn seal(&self, text: &[u8]) -> Result<Vec<u8>, VaultError> {
        let nonce: [u8; NONCE_LEN] = random()?;
        let mut sealed = text.to_vec();
        let done =
            self.key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(PURPOSE), &mut sealed);
        done.map_err(|_| VaultError::Random)?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// Returns the bytes that were sealed with this key.
    ///
    /// # Errors
    /// [`VaultError::Foreign`] if they were not, or were changed since.
    pub fn unseal(&self, sealed: &[u8]) -> Result<Vec<u8>, VaultError> {
        let foreign = || VaultError::Foreign { path: self.path.clone() };
        let (nonce, rest) = sealed.split_at_checked(NONCE_LEN).ok_or_else(foreign)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| foreign())?;
        let mut text = rest.to_vec();
        let opened = self.key.open_in_place(nonce, Aad::from(PURPOSE), &mut text).map_err(|_| foreign())?;
        Ok(opened.to_vec())
    }
}

/// Random bytes of the system.
///
/// # Errors
/// [`VaultError::Random`].
pub(super) fn random<const N: usize>() -> Result<[u8; N], VaultError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| VaultError::Random)?;
    Ok(bytes)
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> VaultError {
    let path = path.to_owned();
    move |source| VaultError::Io { action, path, source }
}

/// Makes a new key under its name in one step; of two masters that make one at once, the first one's key remains.
fn make(path: &Path) -> Result<(), VaultError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(failed("make a place for", path))?;
    let partial = path.with_extension(format!("partial-{}", std::process::id()));
    let bytes: [u8; KEY_BYTES] = random()?;
    let written = write_private(&partial, &bytes).and_then(|()| match std::fs::hard_link(&partial, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    });
    let synced = written.and_then(|()| regular_file::sync(folder));
    let _ = std::fs::remove_file(&partial);
    synced.map_err(failed("make", path))
}

/// A file that only its owner reads, synced.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    // One that was there before keeps its mode.
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_with_the_same_key_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/authority.key");
        let vault = Vault::open(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let sealed = vault.seal(b"a secret").unwrap();
        assert!(!sealed.windows(6).any(|window| window == b"secret"));
        assert_eq!(Vault::open(&path).unwrap().unseal(&sealed).unwrap(), b"a secret");
        let mut changed = sealed.clone();
        *changed.last_mut().unwrap() ^= 1;
        let other = Vault::open(&folder.path().join("other.key")).unwrap();
        for result in [vault.unseal(&changed), other.unseal(&sealed), vault.unseal(b"short")] {
            assert!(matches!(result, Err(VaultError::Foreign { .. })), "{result:?}");
        }
    }

    #[test]
    fn a_key_that_others_may_read_or_that_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        write_private(&path, &[7; 31]).unwrap();
        assert!(matches!(Vault::open(&path), Err(VaultError::Damaged { .. })));
        write_private(&path, &[7; 32]).unwrap();
        assert!(Vault::open(&path).is_ok());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(Vault::open(&path).unwrap_err().to_string().contains("chmod 600"));
    }
}
