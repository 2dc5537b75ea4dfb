//! What happens to an agent, one at a time.

use super::link::LinkEvent;
use compass_agent::{BulkError, SlotReport};
use compass_types::ids::Digest;

/// Event in the life of an agent.
#[derive(Debug)]
pub(super) enum Event {
    /// Of the connection with this number; those of an older one are stale.
    Link { link: u64, event: LinkEvent },
    /// A slot's child or batch.
    Slot(SlotReport),
    /// Content that was asked for; checked against its digest.
    Fetched { digest: Digest, content: Result<Vec<u8>, BulkError> },
    /// The attachment of an outbox entry is at the master, or not.
    Uploaded { link: u64, seq: u64, done: Result<(), BulkError> },
    /// SIGINT or SIGTERM.
    Signal(u8),
    /// The launcher will end this process soon.
    TimeIsUp,
    /// Standard input ended.
    ParentGone,
}

impl From<SlotReport> for Event {
    fn from(report: SlotReport) -> Self {
        Self::Slot(report)
    }
}
