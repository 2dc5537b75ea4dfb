//! The connections of a stage's workers: what the leader has to say leaves through them.

use compass_proto::v1;
use compass_rpc::Output;
use compass_scheduler::ConnectionId;
use compass_types::ids::WorkerId;
use std::collections::BTreeMap;
use tokio::sync::mpsc;
use tonic::Status;

/// The way to a worker; what it cannot hold, its worker is too slow for.
pub(super) type Outbound = mpsc::Sender<Result<v1::MasterFrame, Status>>;

/// Every connection that is open, and the latest of each worker.
#[derive(Debug, Default)]
pub(super) struct Connections {
    open: BTreeMap<ConnectionId, (WorkerId, Outbound)>,
    latest: BTreeMap<WorkerId, ConnectionId>,
}

impl Connections {
    /// A worker has dialled.
    pub(crate) fn open(&mut self, connection: ConnectionId, worker: WorkerId, outbound: Outbound) {
        self.open.insert(connection, (worker, outbound));
    }

    /// The leader took the connection: the worker's others are closing.
    pub(crate) fn taken(&mut self, connection: ConnectionId, worker: WorkerId) {
        self.latest.insert(worker, connection);
    }

    /// The worker's connection, if its other end is gone, though the end was not reported yet.
    pub(crate) fn lost(&self, worker: &WorkerId) -> Option<ConnectionId> {
        let connection = self.latest.get(worker)?;
        let is_lost = self.open.get(connection).is_none_or(|(_, outbound)| outbound.is_closed());
        is_lost.then_some(*connection)
    }

    /// The connection is over; what it was given before still leaves.
    pub(crate) fn close(&mut self, connection: ConnectionId) {
        if let Some((worker, _)) = self.open.remove(&connection)
            && self.latest.get(&worker) == Some(&connection)
        {
            self.latest.remove(&worker);
        }
    }

    /// Does what the leader wants done. Returns the connections that could not take a frame, and are closed therefore: a
    /// worker that is too slow is cut off, dials again, and hears what it has missed.
    pub(crate) fn carry(&mut self, outputs: impl Iterator<Item = Output>) -> Vec<(WorkerId, ConnectionId)> {
        let mut overflowed = Vec::new();
        for output in outputs {
            match output {
                Output::Close { connection } => self.close(connection),
                Output::Frame { connection, frame } => {
                    let Some((worker, outbound)) = self.open.get(&connection) else { continue };
                    if outbound.try_send(Ok(frame)).is_err() {
                        overflowed.push((worker.clone(), connection));
                        self.close(connection);
                    }
                }
            }
        }
        overflowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(connection: u64, seq: u64) -> Output {
        let frame = v1::MasterFrame { seq, ..Default::default() };
        Output::Frame { connection: ConnectionId(connection), frame }
    }

    #[test]
    fn a_connection_that_takes_no_more_is_closed_and_named_once() {
        let (slow, fast) = (WorkerId("slow".into()), WorkerId("fast".into()));
        let mut connections = Connections::default();
        let ((to_slow, mut by_slow), (to_fast, mut by_fast)) = (mpsc::channel(1), mpsc::channel(4));
        connections.open(ConnectionId(1), slow.clone(), to_slow);
        connections.open(ConnectionId(2), fast.clone(), to_fast);
        let outputs = [frame(1, 1), frame(1, 2), frame(1, 3), frame(2, 1), frame(2, 2)];
        assert_eq!(connections.carry(outputs.into_iter()), [(slow, ConnectionId(1))]);
        assert_eq!(by_slow.try_recv().unwrap().unwrap().seq, 1, "what it took before still arrives");
        assert_eq!(by_slow.try_recv().unwrap_err(), mpsc::error::TryRecvError::Disconnected);
        assert_eq!(by_fast.len(), 2);
        assert!(connections.carry([Output::Close { connection: ConnectionId(2) }].into_iter()).is_empty());
        (1..=2).for_each(|seq| assert_eq!(by_fast.try_recv().unwrap().unwrap().seq, seq));
        assert_eq!(by_fast.try_recv().unwrap_err(), mpsc::error::TryRecvError::Disconnected);
    }

    #[test]
    fn that_nobody_reads_is_known_before_it_is_said() {
        let worker = WorkerId("w".into());
        let mut connections = Connections::default();
        let (outbound, frames) = mpsc::channel(1);
        connections.open(ConnectionId(1), worker.clone(), outbound);
        connections.taken(ConnectionId(1), worker.clone());
        assert_eq!(connections.lost(&worker), None);
        drop(frames);
        assert_eq!(connections.lost(&worker), Some(ConnectionId(1)));
        connections.close(ConnectionId(1));
        assert_eq!(connections.lost(&worker), None);
    }
}
