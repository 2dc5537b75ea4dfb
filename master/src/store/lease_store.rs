//! The trait that every backend serves.

use compass_common::ids::Epoch;
use std::future::Future;
use std::path::PathBuf;

/// A reign: every write names it, and a write under an older one is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leadership {
    pub epoch: Epoch,
}

/// One write of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    Put { key: String, value: Vec<u8> },
    Delete { key: String },
}

/// Why the store did not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another master leads this run now.
    #[error(
        "another master works on this run: {holder}. Wait for it to end, or stop it; its run can then be resumed with -r"
    )]
    Held { holder: String },
    /// This master no longer leads.
    #[error("the leadership of epoch {0} is over; another master has taken the run")]
    Fenced(Epoch),
    /// The state directory cannot hold a store.
    #[error(
        "the state directory {path} is on a network file system, where file locks do not hold; set master.state_dir to a disk of this host"
    )]
    NetworkFileSystem { path: PathBuf },
    /// The file is there and is no store.
    #[error("the store {path} is damaged; remove it and resume: the run folder alone tells what is done")]
    Damaged {
        path: PathBuf,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Reading or writing failed.
    #[error("cannot {action} the store {path}")]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl StoreError {
    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        false
    }
}

/// A small, durable, fenced key-value store.
pub trait LeaseStore: Send {
    /// Takes the lead and opens a new epoch, greater than every one before and than `at_least`.
    ///
    /// # Errors
    /// [`StoreError::Held`] while another leads.
    fn campaign(
        &mut self,
        candidate: &str,
        at_least: Epoch,
    ) -> impl Future<Output = Result<Leadership, StoreError>> + Send;

    /// Applies all writes or none, durably, if `leadership` still stands.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] when it does not.
    fn commit(&mut self, leadership: &Leadership, ops: Vec<Op>) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// At most `limit` entries whose keys start with `prefix`, after the key `after`, in key order.
    ///
    /// # Errors
    /// Those of the backend.
    fn scan(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(String, Vec<u8>)>, StoreError>> + Send;

    /// Every entry under `prefix`, read page by page.
    ///
    /// # Errors
    /// Those of the backend.
    fn scan_all(&self, prefix: &str) -> impl Future<Output = Result<Vec<(String, Vec<u8>)>, StoreError>> + Send
    where
        Self: Sync,
    {
        async move {
            const PAGE: usize = 500;
            let mut all: Vec<(String, Vec<u8>)> = Vec::new();
            loop {
                let after = all.last().map(|(key, _)| key.clone());
                let page = self.scan(prefix, after.as_deref(), PAGE).await?;
                let last = page.len() < PAGE;
                all.extend(page);
                if last {
                    return Ok(all);
                }
            }
        }
    }
}
