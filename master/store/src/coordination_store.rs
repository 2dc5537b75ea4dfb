//! The trait that every backend serves.

use super::damage::Damage;
use super::error::StoreError;
use compass_types::ids::Epoch;
use std::future::Future;
use std::time::Duration;
use tokio::sync::watch;

/// A term: every write names it, and a write under an older one is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leadership {
    pub epoch: Epoch,
}

/// Record of the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderRecord {
    pub epoch: Epoch,
    /// As it called itself when it campaigned, for people.
    pub holder: String,
}

/// One write of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    Put { key: String, value: Vec<u8> },
    Delete { key: String },
}

/// Certainty that a leader may have of its lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeadershipStatus {
    /// Confirmed, or never asked for.
    Sure,
    /// The store does not answer, or takes no writes: commits wait. Why, for the screen.
    Waiting { why: String },
    /// Another leads.
    Lost,
}

/// A small, durable, fenced key-value store, opened for one job.
pub trait CoordinationStore: Send + Sync {
    /// Takes the lead and opens a new epoch, greater than every one before and than `at_least`. `candidate` is what
    /// others are told.
    ///
    /// # Errors
    /// [`StoreError::Held`] while another leads.
    fn campaign(
        &mut self,
        candidate: &str,
        at_least: Epoch,
    ) -> impl Future<Output = Result<Leadership, StoreError>> + Send;

    /// Lets others lead at once. What is durable stays.
    ///
    /// # Errors
    /// Those of the backend; the lead then ends by itself, with the lease.
    fn resign(&mut self, leadership: &Leadership) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Tells when the lead is in doubt, and when it is lost.
    fn status(&self) -> watch::Receiver<LeadershipStatus>;

    /// The leader, or `None`.
    ///
    /// # Errors
    /// Those of the backend.
    fn leader(&self) -> impl Future<Output = Result<Option<LeaderRecord>, StoreError>> + Send;

    /// Waits until there seems to be no leader. A hint: only a campaign decides.
    ///
    /// # Errors
    /// Those that waiting does not cure.
    fn vacancy(&self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Applies all writes or none, durably, if `leadership` still stands. At most [`super::MAX_OPS`] of them; of several
    /// to one key the last stands. Waits while the store is away or full.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] when the leadership is over.
    fn commit(&mut self, leadership: &Leadership, ops: Vec<Op>) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The error to be told of a key that was read and holds what it should not.
    fn damaged(&self, damage: Damage) -> StoreError;

    /// Returns the longest time for which a group of writes may gather before it is committed.
    fn gathering(&self) -> Duration {
        Duration::ZERO
    }

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
    fn scan_all(&self, prefix: &str) -> impl Future<Output = Result<Vec<(String, Vec<u8>)>, StoreError>> + Send {
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
