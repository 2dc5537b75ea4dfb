//! What the master must hear exactly as it was said: frames in sequence, kept until acknowledged, replayed after a
//! reconnect under their own numbers.
//!
//! Pure. Bounded softly: nothing is refused, but while [`Outbox::is_full`] nothing that makes more frames is begun.

use super::grants::GrantKey;
use compass_common::ids::{Attempt, Digest, Epoch, TaskId, UnitId};
use compass_proto::v1;
use compass_proto::v1::worker_frame::Body;
use prost::Message;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes kept before the slots are held back.
pub(super) const OUTBOX_BYTES: usize = 4 * 1024 * 1024;

/// Content too large for the frame that names it: it must be at the master before the frame.
#[derive(Clone, Debug)]
pub(super) struct Attachment {
    pub(super) digest: Digest,
    pub(super) bytes: Arc<Vec<u8>>,
}

/// A frame in waiting.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) seq: u64,
    pub(super) body: Body,
    pub(super) attachments: Vec<Attachment>,
    size: usize,
}

/// Frames that are not acknowledged yet, oldest first.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    entries: VecDeque<Entry>,
    last_seq: u64,
    /// Highest seq handed to the present connection.
    sent: u64,
    bytes: usize,
}

impl Outbox {
    /// Appends a frame under the next number.
    pub(super) fn push(&mut self, body: Body, attachments: Vec<Attachment>) {
        self.last_seq += 1;
        let encoded = v1::WorkerFrame { seq: self.last_seq, ack: 0, body: Some(body.clone()) }.encoded_len();
        let size = encoded + attachments.iter().map(|attachment| attachment.bytes.len()).sum::<usize>();
        self.bytes += size;
        self.entries.push_back(Entry { seq: self.last_seq, body, attachments, size });
    }

    /// The master has handled everything up to `seq`.
    pub(super) fn acknowledged(&mut self, seq: u64) {
        while self.entries.front().is_some_and(|entry| entry.seq <= seq) {
            self.bytes -= self.entries.pop_front().map_or(0, |entry| entry.size);
        }
    }

    /// A new connection: everything that is kept goes out again.
    pub(super) fn rewind(&mut self) {
        self.sent = 0;
    }

    /// The next frame for the present connection.
    pub(super) fn next_unsent(&self) -> Option<&Entry> {
        let at = self.entries.partition_point(|entry| entry.seq <= self.sent);
        self.entries.get(at)
    }

    /// The frame `seq` went to the present connection.
    pub(super) fn sent(&mut self, seq: u64) {
        self.sent = self.sent.max(seq);
    }

    /// The number of the first frame that the next connection will carry.
    pub(super) fn first_seq(&self) -> u64 {
        self.entries.front().map_or(self.last_seq + 1, |entry| entry.seq)
    }

    /// The samples whose results are not acknowledged, frame by frame.
    pub(super) fn unacknowledged(&self) -> Vec<(GrantKey, UnitId, Vec<u32>)> {
        let results = self.entries.iter().filter_map(|entry| match &entry.body {
            Body::Results(results) => Some((results, &entry.attachments)),
            _ => None,
        });
        let each = results.map(|(results, attachments)| {
            let (epoch, task, attempt) = (Epoch(results.epoch), TaskId(results.task), Attempt(results.attempt));
            let large = attachments.iter().filter_map(|large| v1::SampleResult::decode(large.bytes.as_slice()).ok());
            let samples = results.samples.iter().map(|result| result.index).chain(large.map(|result| result.index));
            (GrantKey { epoch, task, attempt }, UnitId(results.unit), samples.collect())
        });
        each.collect()
    }

    /// Whether enough waits that no more should be made.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= OUTBOX_BYTES
    }

    /// Whether the master has everything.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Drops everything: it belongs to a plan that nobody asks for any more. Numbers go on.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(task: u32) -> Body {
        Body::Accepted(v1::Accepted { task, attempt: 1 })
    }

    fn send_all(outbox: &mut Outbox) -> Vec<u64> {
        let mut sent = Vec::new();
        while let Some(seq) = outbox.next_unsent().map(|entry| entry.seq) {
            outbox.sent(seq);
            sent.push(seq);
        }
        sent
    }

    #[test]
    fn a_frame_goes_once_per_connection_until_it_is_acknowledged() {
        let mut outbox = Outbox::default();
        (0..5).for_each(|task| outbox.push(accepted(task), Vec::new()));
        assert_eq!(send_all(&mut outbox), [1, 2, 3, 4, 5]);
        assert_eq!(send_all(&mut outbox), [0; 0]);
        outbox.acknowledged(2);
        outbox.rewind();
        outbox.push(accepted(9), Vec::new());
        assert_eq!(send_all(&mut outbox), [3, 4, 5, 6]);
        outbox.acknowledged(6);
        assert!(outbox.is_empty());
        assert_eq!(outbox.bytes, 0);
    }

    #[test]
    fn an_old_acknowledgement_and_one_of_the_future_are_harmless() {
        let mut outbox = Outbox::default();
        (0..3).for_each(|task| outbox.push(accepted(task), Vec::new()));
        outbox.acknowledged(2);
        outbox.acknowledged(1);
        assert_eq!(send_all(&mut outbox), [3]);
        outbox.acknowledged(99);
        outbox.push(accepted(7), Vec::new());
        assert_eq!(send_all(&mut outbox), [4]);
    }

    #[test]
    fn attachments_count_towards_the_bound() {
        let mut outbox = Outbox::default();
        let bytes = Arc::new(vec![0; OUTBOX_BYTES]);
        outbox.push(accepted(1), vec![Attachment { digest: Digest([0; 32]), bytes }]);
        assert!(outbox.is_full());
        outbox.acknowledged(1);
        assert!(!outbox.is_full());
    }
}
