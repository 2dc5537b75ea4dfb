//! The ledger: every sample's result, durable, in segments that only their writer appends to.
//!
//! The ledger alone says which samples are done.

mod batch;
mod committer;
mod record;
mod segment;

pub use batch::{Batch, Content, Journal, Submission, transactions};
pub use committer::{CommitError, Committed, Committer};
#[cfg(any(test, feature = "simulation"))]
pub(crate) use record::encode;
pub use record::{Entry, Kind};
pub use segment::{Ledger, LedgerError, Loaded, SegmentWriter};
#[cfg(any(test, feature = "simulation"))]
pub(crate) use segment::{header, read_segment};
