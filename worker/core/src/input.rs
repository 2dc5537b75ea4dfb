//! What happens to an agent, one at a time.

use super::connect_error::ConnectError;
use super::order::SlotReport;
use super::transfer::BulkError;
use compass_proto::v1;
use compass_types::ids::Digest;

/// Something that the core of an agent takes.
#[derive(Debug)]
pub enum Input {
    /// Nothing but that time has passed.
    Tick,
    /// Of the connection with this number; what comes of an older one is stale.
    Link { link: u64, news: News },
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

/// What happens to a connection.
#[derive(Debug)]
pub enum News {
    /// It is open, and its hello left at this time.
    Opened { hello_sent_ms: u64 },
    /// The master sent this.
    Frame(Box<v1::MasterFrame>),
    /// The body of a frame is on its way, and nothing else can come meanwhile.
    Fetching,
    /// It has room for a frame.
    Writable,
    /// The transport takes nothing more; why will be reported.
    Stuck,
    /// It is over, or never came about.
    Closed { why: ConnectError },
}
