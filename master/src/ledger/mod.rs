//! The ledger: every sample's result, durable, in segments that only their writer appends to.
//!
//! The ledger alone says which samples are done.

mod batch;
mod committer;
mod owner;
mod record;
mod segment;
mod tally;

pub use batch::{Batch, Content, Journal, Submission, transactions};
pub use committer::{CommitError, Committed, Committer};
pub use owner::{Claim, Doubt, LEASE, Owner, OwnerError, StoreId};
#[cfg(any(test, feature = "simulation"))]
pub(crate) use record::encode;
pub use record::{Entry, Kind};
pub use segment::{Change, Ledger, LedgerError, Loaded, SegmentWriter};
#[cfg(any(test, feature = "simulation"))]
pub(crate) use segment::{header, read_segment};
pub use tally::Tally;
