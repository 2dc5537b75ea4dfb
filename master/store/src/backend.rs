//! Requests to a store with revisions and leases: single ones, none of them tried twice for long.

use super::error::StoreError;
use super::transaction::{Reply, StoredKey, Transaction};
use std::future::Future;
use std::time::Duration;

/// Reason for which a request has no answer that counts.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// No reply: it may have been applied or not. To ask again may help.
    #[error(transparent)]
    NoReply(StoreError),
    /// It names a lease that does not exist; nothing was done.
    #[error("the lease is gone")]
    LeaseGone,
    /// To ask again does not help.
    #[error(transparent)]
    Final(StoreError),
}

/// Sends single requests to a store with revisions and leases.
pub trait Backend: Send + Sync + 'static {
    /// Runs a transaction.
    fn transact(&self, request: &Transaction) -> impl Future<Output = Result<Reply, Trouble>> + Send;

    /// At most `limit` entries whose keys start with `prefix`, after the key `after`, in key order.
    fn range(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<StoredKey>, Trouble>> + Send;

    /// A lease of so long.
    fn grant(&self, ttl: Duration) -> impl Future<Output = Result<i64, Trouble>> + Send;

    /// Has a lease begin again; false when it is gone.
    fn keep_alive(&self, lease: i64) -> impl Future<Output = Result<bool, Trouble>> + Send;

    /// Ends a lease.
    fn revoke(&self, lease: i64) -> impl Future<Output = Result<(), Trouble>> + Send;

    /// Returns when `key` is gone, or earlier: the caller looks again.
    fn vanished(&self, key: &str) -> impl Future<Output = Result<(), Trouble>> + Send;

    /// Returns a number that tells its cluster from others, whatever its addresses.
    fn cluster(&self) -> impl Future<Output = Result<u64, Trouble>> + Send;

    /// Returns its addresses, for people.
    fn endpoints(&self) -> &str;

    /// Returns the longest time for which a group of writes may gather.
    fn gathering(&self) -> Duration;
}
