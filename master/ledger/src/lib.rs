//! The ledger: every sample's result, durable, in segments that only their writer appends to.
//!
//! The ledger alone says which samples are done.

mod batch;
mod committer;
mod error;
mod group_commit;
mod owner;
mod payload;
mod record;
mod reopened;
mod seal;
mod segment;
mod tally;
mod worker_event;

pub use batch::{AssignmentLog, Batch, Content, Submission, transactions};
pub use committer::{CommitError, Committed, Committer};
pub use error::{Change, LedgerError};
pub use group_commit::{CommitStep, GroupCommit};
pub use owner::{Claim, Doubt, LEASE, Owner, OwnerError, StoreId};
pub use payload::parse_result;
pub use record::{Kind, LedgerEntry, encode};
pub use reopened::Reopened;
pub use seal::Seal;
pub use segment::{Ledger, LedgerSummary, Loaded, SegmentWriter, TornEnd, header, read_segment};
pub use tally::Tally;
pub use worker_event::WorkerEvent;
