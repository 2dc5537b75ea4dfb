//! Events of an agent, handled one at a time.

use super::bulk::Bulk;
use compass_agent::{BulkError, ConnectError, SlotReport};
use compass_proto::v1;
use compass_types::ids::Digest;
use tokio::sync::mpsc;

/// An event of an agent.
#[derive(Debug)]
pub(super) enum Event {
    /// From the connection with this number; events of earlier connections are stale.
    Link { link: u64, event: LinkEvent },
    /// From a slot, about its child or batch.
    Slot(SlotReport),
    /// Requested content, checked against its digest, or why it could not be fetched.
    Fetched { digest: Digest, content: Result<Vec<u8>, BulkError> },
    /// Result of uploading the attachment of an outbox entry.
    Uploaded { link: u64, seq: u64, done: Result<(), BulkError> },
    /// SIGINT or SIGTERM.
    Signal(u8),
    /// The launcher will end this process soon.
    TimeIsUp,
    /// Stdin reached EOF.
    ParentGone,
}

impl From<SlotReport> for Event {
    fn from(report: SlotReport) -> Self {
        Self::Slot(report)
    }
}

/// Event of a connection.
#[derive(Debug)]
pub(super) enum LinkEvent {
    /// The stream is open and the hello was sent.
    Up {
        frames: mpsc::Sender<v1::WorkerFrame>,
        bulk: Box<Bulk>,
        hello_sent_ms: u64,
    },
    Frame(Box<v1::MasterFrame>),
    /// The body of a frame is being fetched.
    Fetching,
    /// The last event of a connection.
    Down {
        why: ConnectError,
    },
}
