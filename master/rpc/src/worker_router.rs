//! Decision on which job takes in a worker that waits for assignment.

use super::inbound::Inbound;
use compass_proto::v1;
use compass_scheduler::ConnectionId;
use compass_types::ids::WorkerId;
use std::fmt::Debug;
use tokio::sync::{mpsc, oneshot};

/// Outcome for a worker that waits for assignment.
#[derive(Debug)]
pub enum Answer {
    /// Somebody takes it in.
    TakenIn(mpsc::Sender<Inbound>),
    /// No job ever will; the worker is told why, and exits.
    Refused(String),
    /// The master goes; so should the worker.
    Shutdown(&'static str),
}

/// Decides which job takes in a worker that has connected.
pub trait WorkerRouter: Debug + Send + Sync {
    /// A worker waits for assignment. Resolves as soon as it is known what becomes of it.
    fn arrive(&self, connection: ConnectionId, hello: &v1::Hello) -> oneshot::Receiver<Answer>;

    /// Its connection is down.
    fn left(&self, worker: &WorkerId, connection: ConnectionId);
}
