//! Bodies of the master's frames that are too large for them: spilled when the frame is sent, kept until the worker has fetched
//! them.
//!
//! Each belongs to a connection and is freed with it; on the next connection the frame is spilled again.

use compass_proto::{spill, v1};
use compass_scheduler::ConnectionId;
use compass_types::ids::Digest;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The spilled bodies of a port.
#[derive(Clone, Debug, Default)]
pub(super) struct Spills(Arc<Mutex<BTreeMap<Key, Arc<Vec<u8>>>>>);

type Key = (Digest, ConnectionId);

/// The spilled bodies of one connection; freed when this is dropped.
#[derive(Debug)]
pub(super) struct SpillsOf {
    spills: Spills,
    connection: ConnectionId,
}

impl Spills {
    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<Key, Arc<Vec<u8>>>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn of(&self, connection: ConnectionId) -> SpillsOf {
        SpillsOf { spills: self.clone(), connection }
    }

    /// Returns a body by its digest, with the connection that it belongs to.
    pub(super) fn find(&self, digest: &Digest) -> Option<(ConnectionId, Arc<Vec<u8>>)> {
        self.with(|all| {
            let mut found = all.range((*digest, ConnectionId(0))..).take_while(|((known, _), _)| known == digest);
            found.next().map(|((_, connection), bytes)| (*connection, bytes.clone()))
        })
    }

    /// Frees a body that the worker has fetched.
    pub(super) fn fetched(&self, digest: Digest, connection: ConnectionId) {
        self.with(|all| drop(all.remove(&(digest, connection))));
    }
}

impl SpillsOf {
    /// Returns the frame as it is sent.
    pub(super) fn outgoing(&self, frame: v1::MasterFrame) -> v1::MasterFrame {
        let (frame, content) = spill(frame);
        if let Some(content) = content {
            let key = (content.digest, self.connection);
            self.spills.with(|all| drop(all.insert(key, Arc::new(content.bytes))));
        }
        frame
    }
}

impl Drop for SpillsOf {
    fn drop(&mut self) {
        self.spills.with(|all| all.retain(|(_, connection), _| *connection != self.connection));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_proto::{MAX_FRAME_BYTES, intervals_to_wire, unspill};
    use prost::Message;
    use v1::master_frame::Body;

    #[test]
    fn a_grant_of_many_runs_leaves_by_its_digest_and_goes_with_its_connection() {
        let alternate = compass_types::intervals::IntervalSet::from_indices((0..60_000).map(|at| at * 2));
        let grant = v1::Grant { slots: 7, samples: intervals_to_wire(&alternate), ..Default::default() };
        let frame = v1::MasterFrame { seq: 5, ack: 9, body: Some(Body::Grant(grant)) };
        assert!(frame.encoded_len() > MAX_FRAME_BYTES);
        let spills = Spills::default();
        let (one, two) = (spills.of(ConnectionId(1)), spills.of(ConnectionId(2)));
        let sent = one.outgoing(frame.clone());
        assert!(sent.encoded_len() < 100);
        assert_eq!(two.outgoing(frame.clone()), sent);
        let digest = compass_proto::digest_from_wire(match &sent.body {
            Some(Body::Spilled(spilled)) => &spilled.digest,
            other => unreachable!("{other:?}"),
        });
        let digest = digest.unwrap();
        let (connection, bytes) = spills.find(&digest).unwrap();
        assert_eq!(unspill(sent, &bytes).unwrap(), frame);
        spills.fetched(digest, connection);
        let (connection, _) = spills.find(&digest).expect("that of the other connection");
        assert_eq!(connection, ConnectionId(2));
        drop(two);
        assert_eq!(spills.find(&digest), None);
    }
}
