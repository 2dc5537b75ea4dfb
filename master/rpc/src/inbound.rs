//! Events that connections tell the driver.

use super::parse::ParsedFrame;
use compass_proto::v1;
use compass_scheduler::ConnectionId;
use compass_types::ids::WorkerId;
use tokio::sync::mpsc;
use tonic::Status;

/// Event of a connection, for the driver.
#[derive(Debug)]
pub enum Inbound {
    /// A stream is up and named its worker.
    Hello { connection: ConnectionId, hello: v1::Hello, outbound: mpsc::Sender<Result<v1::MasterFrame, Status>> },
    /// A later frame.
    Frame { worker: WorkerId, connection: ConnectionId, frame: ParsedFrame },
    /// The next frame cannot be decoded; it is the last of this connection.
    Unreadable { worker: WorkerId, connection: ConnectionId, reason: String },
    /// The stream is down.
    Closed { worker: WorkerId, connection: ConnectionId },
}
