//! Inputs of an agent's core, handled one at a time.

use super::connect_error::ConnectError;
use super::order::SlotReport;
use super::transfer::BulkError;
use compass_proto::v1;
use compass_types::ids::Digest;

/// An input of an agent's core.
#[derive(Debug)]
pub enum Input {
    /// Time has passed.
    Tick,
    /// From the connection with this number; events of earlier connections are stale.
    Link { link: u64, news: ConnectionEvent },
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

/// Event of a connection.
#[derive(Debug)]
pub enum ConnectionEvent {
    /// The connection is open, and its hello was sent at this time.
    Opened { hello_sent_ms: u64 },
    /// A frame of the master arrived.
    Frame(Box<v1::MasterFrame>),
    /// The body of a frame is being fetched, and no other frame can arrive meanwhile.
    Fetching,
    /// The connection can send a frame.
    Writable,
    /// The transport accepts no more frames; `Closed` will follow.
    Stuck,
    /// The connection has ended or could not be opened.
    Closed { why: ConnectError },
}
