//! What the master must hear exactly as it was said: frames in sequence, kept until acknowledged, replayed after a
//! reconnect under their own numbers.
//!
//! Bounded softly: nothing is refused, but while [`Outbox::is_full`] nothing that makes more frames is begun. What memory
//! should not hold lies in the spool until it goes out: a pool that is cut off for long makes more than that.

use super::grants::GrantKey;
use super::spool::{Place, Spool};
use compass_common::ids::{Attempt, Digest, Epoch, TaskId, UnitId};
use compass_proto::v1;
use compass_proto::v1::worker_frame::Body;
use prost::Message;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// Bytes kept in memory; while the master is there, the slots are held back beyond them.
pub(super) const OUTBOX_BYTES: usize = 4 * 1024 * 1024;

/// Content too large for the frame that names it: it must be at the master before the frame.
#[derive(Clone, Debug)]
pub(super) struct Attachment {
    pub(super) digest: Digest,
    pub(super) bytes: Arc<Vec<u8>>,
}

/// A frame that can be sent.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) seq: u64,
    pub(super) body: Body,
    pub(super) attachments: Vec<Attachment>,
}

/// Samples of a grant whose results are under way.
pub(super) type UnderWay = (GrantKey, UnitId, Vec<u32>);

/// A frame in waiting.
#[derive(Debug)]
struct Entry {
    seq: u64,
    kept: Kept,
    /// What the hello says of it.
    under_way: Option<UnderWay>,
    size: usize,
}

#[derive(Debug)]
enum Kept {
    InMemory(Box<Outgoing>),
    /// The frame, then its attachments, each with its length before it.
    Spooled(Place),
}

/// Frames that are not acknowledged yet, oldest first.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    entries: VecDeque<Entry>,
    last_seq: u64,
    /// Highest seq handed to the present connection.
    sent: u64,
    /// Of entries in memory.
    bytes: usize,
    spool: Spool,
    /// The spooled frame that goes out next.
    loaded: Option<Outgoing>,
}

impl Outbox {
    /// Appends a frame under the next number.
    pub(super) fn push(&mut self, body: Body, attachments: Vec<Attachment>) {
        self.last_seq += 1;
        let seq = self.last_seq;
        let under_way = under_way(&body, &attachments);
        let frame = v1::WorkerFrame { seq, ack: 0, body: Some(body.clone()) };
        let size = frame.encoded_len() + attachments.iter().map(|attachment| attachment.bytes.len()).sum::<usize>();
        let place = if self.bytes >= OUTBOX_BYTES { self.spool.put(&to_bytes(&frame, &attachments)) } else { None };
        let kept = match place {
            Some(place) => Kept::Spooled(place),
            None => {
                self.bytes += size;
                Kept::InMemory(Box::new(Outgoing { seq, body, attachments }))
            }
        };
        self.entries.push_back(Entry { seq, kept, under_way, size });
    }

    /// The master has handled everything up to `seq`.
    pub(super) fn acknowledged(&mut self, seq: u64) {
        while let Some(entry) = self.entries.pop_front_if(|entry| entry.seq <= seq) {
            self.let_go(&entry);
        }
    }

    fn let_go(&mut self, entry: &Entry) {
        match &entry.kept {
            Kept::InMemory(_) => self.bytes -= entry.size,
            Kept::Spooled(place) => self.spool.free(*place),
        }
    }

    /// A new connection: everything that is kept goes out again.
    pub(super) fn rewind(&mut self) {
        self.sent = 0;
    }

    /// The next frame for the present connection.
    ///
    /// # Errors
    /// The spool lost it: this process cannot hand in what it promised.
    pub(super) fn next_unsent(&mut self) -> io::Result<Option<&Outgoing>> {
        let at = self.entries.partition_point(|entry| entry.seq <= self.sent);
        let Some(entry) = self.entries.get(at) else { return Ok(None) };
        match &entry.kept {
            Kept::InMemory(outgoing) => Ok(Some(outgoing)),
            Kept::Spooled(place) => {
                if self.loaded.as_ref().is_none_or(|loaded| loaded.seq != entry.seq) {
                    self.loaded = Some(from_bytes(&self.spool.get(*place)?)?);
                }
                Ok(self.loaded.as_ref())
            }
        }
    }

    /// The frame `seq` went to the present connection.
    pub(super) fn sent(&mut self, seq: u64) {
        self.sent = self.sent.max(seq);
        self.loaded = None;
    }

    /// The number of the first frame that the next connection will carry.
    pub(super) fn first_seq(&self) -> u64 {
        self.entries.front().map_or(self.last_seq + 1, |entry| entry.seq)
    }

    /// The samples whose results are not acknowledged, frame by frame.
    pub(super) fn unacknowledged(&self) -> Vec<UnderWay> {
        self.entries.iter().filter_map(|entry| entry.under_way.clone()).collect()
    }

    /// Whether enough waits that no more should be made. Cut off from the master, the spool takes what memory should not.
    pub(super) fn is_full(&self, cut_off: bool) -> bool {
        self.bytes >= OUTBOX_BYTES && !(cut_off && self.spool.takes())
    }

    /// Whether the master has everything.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Drops everything: it belongs to a plan that nobody asks for any more. Numbers go on.
    pub(super) fn clear(&mut self) {
        for entry in std::mem::take(&mut self.entries) {
            self.let_go(&entry);
        }
        self.loaded = None;
    }
}

fn under_way(body: &Body, attachments: &[Attachment]) -> Option<UnderWay> {
    let Body::Results(results) = body else { return None };
    let (epoch, task, attempt) = (Epoch(results.epoch), TaskId(results.task), Attempt(results.attempt));
    let large = attachments.iter().filter_map(|large| v1::SampleResult::decode(large.bytes.as_slice()).ok());
    let samples = results.samples.iter().map(|result| result.index).chain(large.map(|result| result.index));
    Some((GrantKey { epoch, task, attempt }, UnitId(results.unit), samples.collect()))
}

fn to_bytes(frame: &v1::WorkerFrame, attachments: &[Attachment]) -> Vec<u8> {
    let mut bytes = frame.encode_length_delimited_to_vec();
    for attachment in attachments {
        bytes.extend((attachment.bytes.len() as u64).to_le_bytes());
        bytes.extend(attachment.bytes.iter());
    }
    bytes
}

fn from_bytes(mut bytes: &[u8]) -> io::Result<Outgoing> {
    let damaged = || io::Error::from(io::ErrorKind::InvalidData);
    let frame = v1::WorkerFrame::decode_length_delimited(&mut bytes).map_err(|_| damaged())?;
    let mut attachments = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<8>() {
        let (content, rest) = rest.split_at_checked(u64::from_le_bytes(*length) as usize).ok_or_else(damaged)?;
        attachments.push(Attachment { digest: Digest::of(content), bytes: Arc::new(content.to_vec()) });
        bytes = rest;
    }
    Ok(Outgoing { seq: frame.seq, body: frame.body.ok_or_else(damaged)?, attachments })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(task: u32) -> Body {
        Body::Accepted(v1::Accepted { task, attempt: 1 })
    }

    fn send_all(outbox: &mut Outbox) -> Vec<u64> {
        let mut sent = Vec::new();
        while let Some(seq) = outbox.next_unsent().unwrap().map(|outgoing| outgoing.seq) {
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
        assert!(outbox.is_full(false));
        outbox.acknowledged(1);
        assert!(!outbox.is_full(false));
    }

    fn results(sample: u32, text: &str) -> (Body, Vec<Attachment>) {
        let result = v1::SampleResult { index: sample, ..Default::default() };
        let large = v1::SampleResult {
            index: sample + 1000,
            outcome: Some(v1::sample_result::Outcome::Failed(text.repeat(1000))),
            ..Default::default()
        };
        let bytes = Arc::new(large.encode_to_vec());
        let body = v1::Results { task: 7, attempt: 1, samples: vec![result], ..Default::default() };
        (Body::Results(body), vec![Attachment { digest: Digest::of(&bytes), bytes }])
    }

    /// What goes over a connection, as a master would read it.
    fn transmit(outbox: &mut Outbox) -> Vec<(u64, Body, Vec<Digest>)> {
        let mut sent = Vec::new();
        while let Some(outgoing) = outbox.next_unsent().unwrap().cloned() {
            let Outgoing { seq, body, attachments } = outgoing;
            assert!(attachments.iter().all(|attachment| Digest::of(&attachment.bytes) == attachment.digest));
            outbox.sent(seq);
            sent.push((seq, body, attachments.into_iter().map(|attachment| attachment.digest).collect()));
        }
        sent
    }

    #[test]
    fn what_memory_should_not_hold_waits_on_disk_and_goes_out_the_same_as_often_as_needed() {
        let mut outbox = Outbox::default();
        let filling = Arc::new(vec![0; OUTBOX_BYTES]);
        outbox.push(accepted(1), vec![Attachment { digest: Digest::of(&filling), bytes: filling }]);
        let in_memory = outbox.bytes;
        let said: Vec<_> = (0..100).map(|sample| results(sample, &format!("answer {sample} "))).collect();
        for (body, attachments) in said.clone() {
            assert!(!outbox.is_full(true), "cut off, the spool takes it");
            outbox.push(body, attachments);
        }
        assert!(outbox.is_full(false), "with the master there, slots wait");
        assert_eq!(outbox.bytes, in_memory, "none of it is in memory");
        let listed = outbox.unacknowledged();
        assert_eq!((listed.len(), &listed[3].2), (100, &vec![3, 1003]));
        for _ in 0..2 {
            outbox.rewind();
            let sent = transmit(&mut outbox);
            assert_eq!(sent.len(), 101);
            for ((_, body, digests), (said, attachments)) in sent[1..].iter().zip(&said) {
                assert_eq!((body, digests.as_slice()), (said, &[attachments[0].digest][..]));
            }
        }
        outbox.acknowledged(51);
        outbox.rewind();
        assert_eq!(transmit(&mut outbox)[0].0, 52);
        outbox.acknowledged(101);
        assert!(outbox.is_empty() && !outbox.is_full(false) && outbox.bytes == 0);
    }

    #[test]
    fn without_a_disk_it_stays_in_memory_and_slots_wait() {
        let mut outbox = Outbox { spool: Spool::in_folder("/proc/nowhere".into()), ..Outbox::default() };
        for sample in 0..6000 {
            let (body, attachments) = results(sample, "x");
            outbox.push(body, attachments);
        }
        assert!(outbox.is_full(true));
        assert_eq!(transmit(&mut outbox).len(), 6000);
        outbox.clear();
        assert!(outbox.is_empty() && outbox.bytes == 0);
    }
}
