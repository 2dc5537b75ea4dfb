//! One small value that several masters read and replace: a file on this host, or a key in etcd. No lead is needed; who
//! replaces it says what it was, and does nothing if it is something else by now.

use super::backend::{Backend, Trouble};
use super::embedded::refuse_network_file_system;
use super::error::StoreError;
use super::etcd::EtcdBackend;
use super::transaction::{Compare, Step, Transaction};
use compass_common::backoff;
use compass_common::regular_file;
use compass_settings::EtcdConfig;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Longest time for which a store that does not answer is asked.
const TIMEOUT: Duration = Duration::from_secs(6);

/// Small value that several masters read and replace: in a file on this host, or under a key in etcd.
#[derive(Debug)]
pub enum SharedValue {
    File(FileValue),
    Etcd(BackendValue<EtcdBackend>),
}

impl SharedValue {
    /// The file `name` in `folder`.
    pub fn in_folder(folder: &Path, name: &str) -> Self {
        Self::File(FileValue { folder: folder.to_owned(), name: name.to_owned() })
    }

    /// The key `name` below the prefix of the configuration. Nothing is sent yet.
    ///
    /// # Errors
    /// A file with a secret cannot be read.
    pub fn in_etcd(config: &EtcdConfig, name: &str) -> Result<Self, StoreError> {
        let key = if config.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", config.prefix) };
        Ok(Self::Etcd(BackendValue { backend: EtcdBackend::open(config)?, key }))
    }

    /// The value; `None` where there is none yet.
    ///
    /// # Errors
    /// Those of the backend.
    pub async fn load(&self) -> Result<Option<Vec<u8>>, StoreError> {
        match self {
            Self::File(file) => file.clone().blocking(FileValue::read).await,
            Self::Etcd(value) => value.load().await,
        }
    }

    /// Replaces `expected` by `new`, durably; false when it was something else. `new` differs from every value before it.
    ///
    /// # Errors
    /// Those of the backend.
    pub async fn swap(&self, expected: Option<&[u8]>, new: &[u8]) -> Result<bool, StoreError> {
        match self {
            Self::File(file) => {
                let (expected, new) = (expected.map(<[u8]>::to_vec), new.to_vec());
                file.clone().blocking(move |file| file.swap(expected.as_deref(), &new)).await
            }
            Self::Etcd(value) => value.swap(expected, new).await,
        }
    }
}

/// A file that is replaced whole, under a lock that is held no longer than that.
#[derive(Clone, Debug)]
pub struct FileValue {
    folder: PathBuf,
    name: String,
}

impl FileValue {
    async fn blocking<T: Send + 'static>(
        self,
        work: impl FnOnce(&Self) -> io::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let path = self.path();
        let failed = |source: io::Error| StoreError::Io { action: "use", path: path.clone(), source: source.into() };
        let folder = self.folder.clone();
        let done = tokio::task::spawn_blocking(move || {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            Ok::<_, io::Error>((refuse_network_file_system(&folder), work(&self)))
        });
        let (allowed, done) = done.await.map_err(|error| failed(io::Error::other(error)))?.map_err(failed)?;
        allowed?;
        done.map_err(failed)
    }

    fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    fn read(&self) -> io::Result<Option<Vec<u8>>> {
        match regular_file::read(&self.path(), regular_file::SMALL) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn swap(&self, expected: Option<&[u8]>, new: &[u8]) -> io::Result<bool> {
        let private = |path: &Path| OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
        let lock = private(&self.folder.join(format!("{}.lock", self.name)))?;
        lock.lock()?;
        if self.read()?.as_deref() != expected {
            return Ok(false);
        }
        // A process that is killed here leaves a file that the next one overwrites.
        let partial = self.folder.join(format!("{}.partial", self.name));
        let mut file = private(&partial)?;
        file.write_all(new)?;
        file.sync_all()?;
        std::fs::rename(&partial, self.path())?;
        regular_file::sync(&self.folder)?;
        Ok(true)
    }
}

/// A key of a store with transactions.
#[derive(Debug)]
pub struct BackendValue<B> {
    backend: B,
    key: String,
}

impl<B: Backend> BackendValue<B> {
    /// The key `key` of a store.
    pub fn over(backend: B, key: &str) -> Self {
        Self { backend, key: key.to_owned() }
    }

    /// As [`SharedValue::load`].
    ///
    /// # Errors
    /// Those of the backend.
    pub async fn load(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let found = persist(|| self.backend.range(&self.key, None, 1)).await?;
        Ok(found.into_iter().find(|entry| entry.key == self.key).map(|entry| entry.value))
    }

    /// As [`SharedValue::swap`].
    ///
    /// # Errors
    /// Those of the backend.
    pub async fn swap(&self, expected: Option<&[u8]>, new: &[u8]) -> Result<bool, StoreError> {
        let key = self.key.clone();
        let request = Transaction {
            when: vec![match expected {
                Some(value) => Compare::Value { key: key.clone(), is: value.to_vec() },
                None => Compare::Created { key: key.clone(), at: 0 },
            }],
            then: vec![Step::Put { key: key.clone(), value: new.to_vec(), lease: 0 }],
            otherwise: vec![key],
        };
        let reply = persist(|| self.backend.transact(&request)).await?;
        let found = reply.read.first().and_then(Option::as_ref);
        // A try before this one may have been applied, and its reply lost.
        Ok(reply.applied || found.is_some_and(|entry| entry.value == new))
    }
}

/// Asks until there is an answer, or the timeout is at its end.
async fn persist<T, F>(mut ask: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, Trouble>>,
{
    let begin = Instant::now();
    let mut pauses = backoff::policy(SHORTEST_PAUSE, LONGEST_PAUSE);
    loop {
        match ask().await {
            Ok(answer) => return Ok(answer),
            Err(Trouble::NoReply(error)) if begin.elapsed() < TIMEOUT => {
                tracing::debug!(%error, "the store gave no answer; asking again");
                tokio::time::sleep(pauses.next().unwrap_or(LONGEST_PAUSE)).await;
            }
            Err(Trouble::NoReply(error) | Trouble::Final(error)) => return Err(error),
            Err(trouble @ Trouble::LeaseGone) => {
                return Err(StoreError::Rejected { endpoints: "its members".into(), source: Box::new(trouble) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimWorld;

    #[tokio::test]
    async fn of_two_who_replace_the_same_value_one_does() {
        let folder = tempfile::tempdir().unwrap();
        let value = SharedValue::in_folder(&folder.path().join("deep"), "v");
        assert_eq!(value.load().await.unwrap(), None);
        assert!(value.swap(None, b"1").await.unwrap());
        assert!(!value.swap(None, b"2").await.unwrap());
        assert!(value.swap(Some(b"1"), b"2").await.unwrap());
        assert!(!value.swap(Some(b"1"), b"3").await.unwrap());
        assert_eq!(value.load().await.unwrap().as_deref(), Some(b"2".as_slice()));
    }

    #[tokio::test]
    async fn a_lost_reply_is_no_lost_write() {
        // One request of four is lost, and as many replies: each swap is done once all the same.
        let value = BackendValue::over(SimWorld::with_loss(250, 7).backend(), "authority");
        let mut before: Option<Vec<u8>> = None;
        for n in 0..40_u8 {
            assert!(value.swap(before.as_deref(), &[n]).await.unwrap(), "{n}");
            assert!(!value.swap(before.as_deref(), &[255, n]).await.unwrap(), "{n}");
            before = Some(vec![n]);
            assert_eq!(value.load().await.unwrap(), before);
        }
    }
}
