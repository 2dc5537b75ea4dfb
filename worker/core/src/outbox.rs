//! Frames to the master in sequence, kept until acknowledged, replayed unchanged after a reconnect under their own
//! numbers.
//!
//! The bound is soft: no frame is rejected, but while [`Outbox::is_full`], no sample starts. Frames that memory should
//! not hold are spooled until they are sent: a pool that is disconnected for long produces more than memory holds. A
//! body that is too large for a frame is spilled, of whatever kind; a frame that the master keeps rejecting is replaced
//! by the failure of its samples.

use super::grants::{Assignment, Unacknowledged};
use super::rejection::{describe, replacement};
use super::spool::{Extent, Spool, SpoolFile};
use compass_proto::session::SendWindow;
use compass_proto::v1::worker_frame::Body;
use compass_proto::{MAX_REJECTIONS, Spill, spill, unspill, v1};
use compass_types::ids::{Digest, UnitId};
use prost::Message;
use std::io;
use std::sync::Arc;

/// Limit on bytes in memory; beyond it slots wait, if the master is connected.
pub(super) const OUTBOX_BYTES: usize = 4 * 1024 * 1024;

/// A body too large for its frame: it is uploaded before the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attachment {
    pub(super) digest: Digest,
    pub(super) bytes: Arc<Vec<u8>>,
}

impl From<Spill> for Attachment {
    fn from(spill: Spill) -> Self {
        Self { digest: spill.digest, bytes: Arc::new(spill.bytes) }
    }
}

/// A frame to send; without a body if it was given up.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) seq: u64,
    pub(super) body: Option<Body>,
    pub(super) attachment: Option<Attachment>,
}

/// An unacknowledged frame.
#[derive(Debug)]
struct OutboxEntry {
    kept: FrameStorage,
    /// Its entry in a hello.
    unacknowledged: Option<Unacknowledged>,
    size: usize,
    /// Set if it replaces a rejected body.
    replaced: bool,
}

#[derive(Debug)]
enum FrameStorage {
    InMemory(Box<Outgoing>),
    /// The frame, then its attachment.
    Spooled(Extent),
}

impl OutboxEntry {
    /// Frees its bytes in memory, or its extent of the spool.
    fn free(&self, bytes: &mut usize, spool: &mut Spool) {
        match &self.kept {
            FrameStorage::InMemory(_) => *bytes -= self.size,
            FrameStorage::Spooled(extent) => spool.free(*extent),
        }
    }
}

/// Consequence of a rejection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rejection {
    /// The frame is sent again on the next connection.
    Resend,
    /// The body was replaced. `what` describes the old one.
    Replaced { what: String },
}

/// Frames that are not acknowledged yet, oldest first.
#[derive(Debug)]
pub(super) struct Outbox {
    window: SendWindow<OutboxEntry>,
    /// Size of the entries in memory.
    bytes: usize,
    spool: Spool,
    /// The spooled frame to send next.
    loaded: Option<Outgoing>,
}

impl Outbox {
    /// Creates an empty outbox that spools to this file.
    pub(super) fn new(file: Box<dyn SpoolFile>) -> Self {
        Self { window: SendWindow::default(), bytes: 0, spool: Spool::new(file), loaded: None }
    }

    /// Appends a frame under the next number.
    pub(super) fn push(&mut self, body: Body) {
        self.append(body, None);
    }

    /// Appends results or the report of a grant: a hello presents the grant until they are acknowledged.
    pub(super) fn push_of(&mut self, assignment: &Arc<Assignment>, body: Body) {
        let unacknowledged = unacknowledged(&body, assignment);
        self.append(body, unacknowledged);
    }

    fn append(&mut self, body: Body, unacknowledged: Option<Unacknowledged>) {
        let (outgoing, size) = outgoing(self.window.next_seq(), Some(body));
        let spooled = if self.bytes >= OUTBOX_BYTES { self.spool.put(&to_bytes(&outgoing)) } else { None };
        let kept = match spooled {
            Some(extent) => FrameStorage::Spooled(extent),
            None => {
                self.bytes += size;
                FrameStorage::InMemory(Box::new(outgoing))
            }
        };
        self.window.push(OutboxEntry { kept, unacknowledged, size, replaced: false });
    }

    /// Drops the frames up to `seq`, which the master has handled.
    pub(super) fn acknowledged(&mut self, seq: u64) {
        for entry in self.window.acknowledged(seq) {
            entry.free(&mut self.bytes, &mut self.spool);
        }
    }

    /// Notes that the master rejected the frame `seq`. The third time its body is replaced by the failure of its
    /// samples, or by an empty body if it has none, or if the failure was rejected as well.
    ///
    /// # Errors
    /// The spool cannot be read.
    pub(super) fn rejected(&mut self, seq: u64, reason: &str) -> io::Result<Rejection> {
        if self.window.get(seq).is_none() || self.window.rejected(seq) < MAX_REJECTIONS {
            return Ok(Rejection::Resend);
        }
        self.window.replaced(seq);
        let Some(entry) = self.window.get_mut(seq) else { return Ok(Rejection::Resend) };
        let loaded = match &entry.kept {
            FrameStorage::InMemory(outgoing) => (**outgoing).clone(),
            FrameStorage::Spooled(extent) => from_bytes(&self.spool.get(*extent)?)?,
        };
        entry.free(&mut self.bytes, &mut self.spool);
        let body = loaded.whole()?;
        let what = body.as_ref().map(describe).unwrap_or_default();
        let other = body.filter(|_| !entry.replaced).and_then(|body| replacement(body, reason));
        let (outgoing, size) = outgoing(seq, other);
        self.bytes += size;
        (entry.kept, entry.size, entry.replaced) = (FrameStorage::InMemory(Box::new(outgoing)), size, true);
        self.loaded = None;
        Ok(Rejection::Replaced { what })
    }

    /// Starts a new connection: every kept frame is sent again.
    pub(super) fn rewind(&mut self) {
        self.window.rewind();
    }

    /// Returns the next frame for the current connection.
    ///
    /// # Errors
    /// The spool cannot be read: the process cannot send results that it promised.
    pub(super) fn next_unsent(&mut self) -> io::Result<Option<&Outgoing>> {
        let Some((seq, entry)) = self.window.unsent() else { return Ok(None) };
        match &entry.kept {
            FrameStorage::InMemory(outgoing) => Ok(Some(outgoing)),
            FrameStorage::Spooled(extent) => {
                if self.loaded.as_ref().is_none_or(|loaded| loaded.seq != seq) {
                    self.loaded = Some(from_bytes(&self.spool.get(*extent)?)?);
                }
                Ok(self.loaded.as_ref())
            }
        }
    }

    /// Marks the frame `seq` as sent on the current connection.
    pub(super) fn sent(&mut self, seq: u64) {
        self.window.sent(seq);
        self.loaded = None;
    }

    /// Number of the first frame on the next connection.
    pub(super) fn first_seq(&self) -> u64 {
        self.window.first_seq()
    }

    /// Returns the unacknowledged samples of grants, frame by frame.
    pub(super) fn unacknowledged(&self) -> Vec<Unacknowledged> {
        self.window.iter().filter_map(|entry| entry.unacknowledged.clone()).collect()
    }

    /// Returns how many samples of the units that `of` takes have a result that is not acknowledged.
    pub(super) fn unacknowledged_samples(&self, of: impl Fn(UnitId) -> bool) -> usize {
        let entries = self.window.iter().filter_map(|entry| entry.unacknowledged.as_ref());
        entries.filter(|entry| of(entry.unit)).map(|entry| entry.samples.len()).sum()
    }

    /// Returns whether no more frames should be produced. While disconnected, the spool takes the excess.
    pub(super) fn is_full(&self, cut_off: bool) -> bool {
        self.bytes >= OUTBOX_BYTES && !(cut_off && self.spool.takes())
    }

    /// Returns whether the master has handled every frame.
    pub(super) fn is_empty(&self) -> bool {
        self.window.is_empty()
    }

    /// Empties every frame, since its plan is obsolete. They are sent all the same: the hello has told the number from which
    /// this session continues, and a number that is left out is taken for a frame that got lost.
    pub(super) fn void(&mut self) {
        for (seq, entry) in (self.window.first_seq()..).zip(self.window.iter_mut()) {
            entry.free(&mut self.bytes, &mut self.spool);
            let (outgoing, size) = outgoing(seq, None);
            self.bytes += size;
            let kept = FrameStorage::InMemory(Box::new(outgoing));
            *entry = OutboxEntry { kept, unacknowledged: None, size, replaced: true };
        }
        self.loaded = None;
    }
}

fn outgoing(seq: u64, body: Option<Body>) -> (Outgoing, usize) {
    let (frame, content) = spill(v1::WorkerFrame { seq, ack: 0, body });
    let size = frame.encoded_len() + content.as_ref().map_or(0, |content| content.bytes.len());
    (Outgoing { seq, body: frame.body, attachment: content.map(Into::into) }, size)
}

impl Outgoing {
    /// Returns the body, including a spilled one.
    fn whole(self) -> io::Result<Option<Body>> {
        match &self.attachment {
            None => Ok(self.body),
            Some(attachment) => {
                let frame = v1::WorkerFrame { seq: self.seq, ack: 0, body: self.body };
                let whole = unspill(frame, &attachment.bytes);
                whole.map(|frame| frame.body).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
            }
        }
    }
}

fn unacknowledged(body: &Body, assignment: &Arc<Assignment>) -> Option<Unacknowledged> {
    let (grant, unit, samples) = match body {
        Body::Results(results) => {
            let samples = results.samples.iter().map(|result| result.index).collect();
            (results.grant?, results.unit, samples)
        }
        Body::Report(report) => (report.grant?, report.unit, Vec::new()),
        _ => return None,
    };
    Some(Unacknowledged { grant: grant.into(), unit: UnitId(unit), samples, assignment: assignment.clone() })
}

fn to_bytes(outgoing: &Outgoing) -> Vec<u8> {
    let frame = v1::WorkerFrame { seq: outgoing.seq, ack: 0, body: outgoing.body.clone() };
    let mut bytes = frame.encode_length_delimited_to_vec();
    bytes.extend(outgoing.attachment.iter().flat_map(|attachment| attachment.bytes.iter()));
    bytes
}

fn from_bytes(mut bytes: &[u8]) -> io::Result<Outgoing> {
    let damaged = || io::Error::from(io::ErrorKind::InvalidData);
    let frame = v1::WorkerFrame::decode_length_delimited(&mut bytes).map_err(|_| damaged())?;
    let attachment = Attachment { digest: Digest::of(bytes), bytes: Arc::new(bytes.to_vec()) };
    let body = frame.body.ok_or_else(damaged)?;
    Ok(Outgoing { seq: frame.seq, body: Some(body), attachment: Some(attachment).filter(|_| !bytes.is_empty()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::doubles::Full;
    use compass_types::ids::GrantId;

    fn empty() -> Outbox {
        Outbox::new(Box::new(Vec::new()))
    }

    fn small(model: u32) -> Body {
        Body::Facts(v1::Facts { model, ..Default::default() })
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
    fn frames_are_sent_once_per_connection_until_acknowledged() {
        let mut outbox = empty();
        (0..5).for_each(|task| outbox.push(small(task)));
        assert_eq!(send_all(&mut outbox), [1, 2, 3, 4, 5]);
        assert_eq!(send_all(&mut outbox), [0; 0]);
        outbox.acknowledged(2);
        outbox.rewind();
        outbox.push(small(9));
        assert_eq!(send_all(&mut outbox), [3, 4, 5, 6]);
        outbox.acknowledged(6);
        assert!(outbox.is_empty());
        assert_eq!(outbox.bytes, 0);
    }

    #[test]
    fn old_and_future_acknowledgements_are_harmless() {
        let mut outbox = empty();
        (0..3).for_each(|task| outbox.push(small(task)));
        outbox.acknowledged(2);
        outbox.acknowledged(1);
        assert_eq!(send_all(&mut outbox), [3]);
        outbox.acknowledged(99);
        outbox.push(small(7));
        assert_eq!(send_all(&mut outbox), [4]);
    }

    /// A frame with one result of the given size.
    fn large(sample: u32, bytes: usize) -> Body {
        let outcome = Some(v1::sample_result::Outcome::Failed("x".repeat(bytes)));
        let result = v1::SampleResult { index: sample, outcome, ..Default::default() };
        Body::Results(v1::Results {
            grant: Some(GrantId::new(2, 7, 1).into()),
            samples: vec![result],
            ..Default::default()
        })
    }

    #[test]
    fn large_bodies_of_any_kind_are_spilled_and_count() {
        let mut outbox = empty();
        let runs = |at: u32| v1::Interval { first: 2 * at, end: 2 * at + 1 };
        let returned = (0..60_000).map(runs).collect();
        let bodies = [
            large(1, OUTBOX_BYTES),
            Body::RevokeAck(v1::RevokeAck { returned, ..Default::default() }),
            Body::Facts(v1::Facts { model: 0, facts: vec![7; 300_000], load: None }),
        ];
        for body in bodies.clone() {
            outbox.push_of(&Arc::default(), body);
        }
        assert!(outbox.is_full(false));
        assert_eq!(outbox.unacknowledged()[0].samples, [1]);
        for body in bodies {
            let outgoing = outbox.next_unsent().unwrap().unwrap().clone();
            assert!(matches!(outgoing.body, Some(Body::Spilled(_))));
            let seq = outgoing.seq;
            assert_eq!(outgoing.whole().unwrap(), Some(body));
            outbox.sent(seq);
        }
        outbox.acknowledged(3);
        assert!(!outbox.is_full(false) && outbox.bytes == 0);
    }

    /// Returns the frames of a connection, as a master reads them.
    fn transmit(outbox: &mut Outbox) -> Vec<(u64, Option<Body>)> {
        let mut sent = Vec::new();
        while let Some(outgoing) = outbox.next_unsent().unwrap().cloned() {
            let seq = outgoing.seq;
            outbox.sent(seq);
            sent.push((seq, outgoing.whole().unwrap()));
        }
        sent
    }

    #[test]
    fn spooled_frames_are_sent_unchanged_on_every_connection() {
        let mut outbox = empty();
        outbox.push(large(0, OUTBOX_BYTES));
        let in_memory = outbox.bytes;
        // Some are spilled, some are not.
        let bodies: Vec<_> = (1..=100).map(|sample| large(sample, 3_000 * sample as usize)).collect();
        for body in bodies.clone() {
            assert!(!outbox.is_full(true), "while disconnected, the spool takes them");
            outbox.push_of(&Arc::default(), body);
        }
        assert!(outbox.is_full(false), "while connected, slots wait");
        assert_eq!(outbox.bytes, in_memory, "no new frame is in memory");
        let listed = outbox.unacknowledged();
        assert_eq!((listed.len(), &listed[3].samples), (100, &vec![4]));
        for _ in 0..2 {
            outbox.rewind();
            let sent = transmit(&mut outbox);
            assert_eq!(sent.len(), 101);
            for ((_, body), expected) in sent[1..].iter().zip(&bodies) {
                assert_eq!(body.as_ref(), Some(expected));
            }
        }
        outbox.acknowledged(51);
        outbox.rewind();
        assert_eq!(transmit(&mut outbox)[0].0, 52);
        outbox.acknowledged(101);
        assert!(outbox.is_empty() && !outbox.is_full(false) && outbox.bytes == 0);
    }

    #[test]
    fn without_disk_space_frames_stay_in_memory_and_slots_wait() {
        let mut outbox = Outbox::new(Box::new(Full));
        (0..6000).for_each(|sample| outbox.push(large(sample, 1000)));
        assert!(outbox.is_full(true));
        assert_eq!(transmit(&mut outbox).len(), 6000);
        outbox.acknowledged(6000);
        assert!(outbox.is_empty() && outbox.bytes == 0);
    }

    #[test]
    fn frames_of_an_obsolete_plan_are_sent_empty_under_their_numbers() {
        let mut outbox = empty();
        (0..4).for_each(|sample| outbox.push(small(sample)));
        outbox.push_of(&Arc::default(), large(5, OUTBOX_BYTES));
        outbox.push_of(&Arc::default(), large(6, 300_000));
        outbox.acknowledged(2);
        let told = outbox.first_seq();
        outbox.void();
        assert!(outbox.unacknowledged().is_empty() && outbox.bytes < 1000);
        outbox.push(small(7));
        let sent = transmit(&mut outbox);
        assert_eq!(sent.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), (told..told + 5).collect::<Vec<_>>());
        assert!(sent[..4].iter().all(|(_, body)| body.is_none()) && sent[4].1 == Some(small(7)));
        outbox.acknowledged(told + 4);
        assert!(outbox.is_empty() && outbox.bytes == 0);
    }

    #[test]
    fn third_rejection_replaces_results_by_failures_then_by_nothing() {
        let mut outbox = empty();
        // One in memory, one in the spool; both too large for a frame.
        outbox.push_of(&Arc::default(), large(5, OUTBOX_BYTES));
        outbox.push_of(&Arc::default(), large(6, 300_000));
        outbox.push(small(9));
        for (seq, sample) in [(1, 5), (2, 6)] {
            assert_eq!(outbox.rejected(seq, "no").unwrap(), Rejection::Resend);
            assert_eq!(outbox.rejected(seq, "no").unwrap(), Rejection::Resend);
            assert!(matches!(outbox.rejected(seq, "no").unwrap(), Rejection::Replaced { .. }));
            outbox.rewind();
            let sent = transmit(&mut outbox);
            assert_eq!(sent.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [1, 2, 3], "numbers have no gaps");
            let Some(Body::Results(results)) = &sent[seq as usize - 1].1 else { panic!("{sent:?}") };
            assert_eq!((results.grant, results.samples[0].index), (Some(GrantId::new(2, 7, 1).into()), sample));
            let Some(v1::sample_result::Outcome::Failed(reason)) = &results.samples[0].outcome else { panic!() };
            assert!(reason.contains("no"), "{reason}");
        }
        assert_eq!(outbox.unacknowledged().len(), 2);
        for _ in 0..2 {
            assert_eq!(outbox.rejected(1, "not even that").unwrap(), Rejection::Resend);
        }
        assert!(matches!(outbox.rejected(1, "not even that").unwrap(), Rejection::Replaced { .. }));
        outbox.rewind();
        assert_eq!(transmit(&mut outbox)[0], (1, None));
        assert_eq!(outbox.rejected(99, "never sent").unwrap(), Rejection::Resend);
        outbox.acknowledged(3);
        assert!(outbox.is_empty() && outbox.bytes == 0);
    }

    #[test]
    fn rejections_count_per_frame() {
        let mut outbox = empty();
        (0..2).for_each(|task| outbox.push(small(task)));
        for seq in [1, 2, 1, 2, 1, 2] {
            assert_eq!(outbox.rejected(seq, "no").unwrap(), Rejection::Resend);
        }
    }
}
