//! What the master must hear exactly as it was said: frames in sequence, kept until acknowledged, replayed after a
//! reconnect under their own numbers.
//!
//! Bounded softly: nothing is refused, but while [`Outbox::is_full`] nothing that makes more frames is begun. What memory
//! should not hold lies in the spool until it goes out: a pool that is cut off for long makes more than that. A body that is
//! too large for a frame is spilled, whatever it is; a frame that the master rejects again and again gives way to the failure
//! of its samples.

use super::grants::{Assignment, UnderWay};
use super::rejection::{instead, named};
use super::spool::{Extent, Spool, SpoolFile};
use compass_proto::session::SendWindow;
use compass_proto::v1::worker_frame::Body;
use compass_proto::{MAX_REJECTIONS, Spill, spill, unspill, v1};
use compass_types::ids::{Digest, UnitId};
use prost::Message;
use std::io;
use std::sync::Arc;

/// Bytes kept in memory; while the master is there, the slots are held back beyond them.
pub(super) const OUTBOX_BYTES: usize = 4 * 1024 * 1024;

/// A body too large for its frame: it must be at the master before the frame.
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

/// A frame that can be sent; without a body where it was given up.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) seq: u64,
    pub(super) body: Option<Body>,
    pub(super) attachment: Option<Attachment>,
}

/// A frame in waiting.
#[derive(Debug)]
struct Entry {
    kept: Kept,
    /// What the hello says of it.
    under_way: Option<UnderWay>,
    size: usize,
    /// Whether it stands in the place of what was rejected.
    replaced: bool,
}

#[derive(Debug)]
enum Kept {
    InMemory(Box<Outgoing>),
    /// The frame, then its attachment.
    Spooled(Extent),
}

impl Entry {
    /// Frees what it holds: bytes in memory, or an extent of the spool.
    fn let_go(&self, bytes: &mut usize, spool: &mut Spool) {
        match &self.kept {
            Kept::InMemory(_) => *bytes -= self.size,
            Kept::Spooled(extent) => spool.free(*extent),
        }
    }
}

/// What comes of a rejection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rejection {
    /// The frame goes out again with the next connection.
    Again,
    /// Something else stands in its place from now on. The words say of what it was.
    Replaced { what: String },
}

/// Frames that are not acknowledged yet, oldest first.
#[derive(Debug)]
pub(super) struct Outbox {
    window: SendWindow<Entry>,
    /// Of entries in memory.
    bytes: usize,
    spool: Spool,
    /// The spooled frame that goes out next.
    loaded: Option<Outgoing>,
}

impl Outbox {
    /// An empty one that spools to this file.
    pub(super) fn new(file: Box<dyn SpoolFile>) -> Self {
        Self { window: SendWindow::default(), bytes: 0, spool: Spool::new(file), loaded: None }
    }

    /// Appends a frame under the next number.
    pub(super) fn push(&mut self, body: Body) {
        self.append(body, None);
    }

    /// Appends results or the report of a grant: until they are acknowledged, the hello presents the grant.
    pub(super) fn push_of(&mut self, assignment: &Arc<Assignment>, body: Body) {
        let under_way = under_way(&body, assignment);
        self.append(body, under_way);
    }

    fn append(&mut self, body: Body, under_way: Option<UnderWay>) {
        let (outgoing, size) = outgoing(self.window.next_seq(), Some(body));
        let spooled = if self.bytes >= OUTBOX_BYTES { self.spool.put(&to_bytes(&outgoing)) } else { None };
        let kept = match spooled {
            Some(extent) => Kept::Spooled(extent),
            None => {
                self.bytes += size;
                Kept::InMemory(Box::new(outgoing))
            }
        };
        self.window.push(Entry { kept, under_way, size, replaced: false });
    }

    /// The master has handled everything up to `seq`.
    pub(super) fn acknowledged(&mut self, seq: u64) {
        for entry in self.window.acknowledged(seq) {
            entry.let_go(&mut self.bytes, &mut self.spool);
        }
    }

    /// The master cannot take the frame `seq`. The third time something else is put in its place: the failure of its
    /// samples, or an empty frame where it has none, or where that was rejected as well.
    ///
    /// # Errors
    /// The spool lost it.
    pub(super) fn rejected(&mut self, seq: u64, reason: &str) -> io::Result<Rejection> {
        if self.window.get(seq).is_none() || self.window.rejected(seq) < MAX_REJECTIONS {
            return Ok(Rejection::Again);
        }
        self.window.replaced(seq);
        let Some(entry) = self.window.get_mut(seq) else { return Ok(Rejection::Again) };
        let loaded = match &entry.kept {
            Kept::InMemory(outgoing) => (**outgoing).clone(),
            Kept::Spooled(extent) => from_bytes(&self.spool.get(*extent)?)?,
        };
        entry.let_go(&mut self.bytes, &mut self.spool);
        let body = loaded.whole()?;
        let what = body.as_ref().map(named).unwrap_or_default();
        let other = body.filter(|_| !entry.replaced).and_then(|body| instead(body, reason));
        let (outgoing, size) = outgoing(seq, other);
        self.bytes += size;
        (entry.kept, entry.size, entry.replaced) = (Kept::InMemory(Box::new(outgoing)), size, true);
        self.loaded = None;
        Ok(Rejection::Replaced { what })
    }

    /// A new connection: everything that is kept goes out again.
    pub(super) fn rewind(&mut self) {
        self.window.rewind();
    }

    /// The next frame for the present connection.
    ///
    /// # Errors
    /// The spool lost it: this process cannot hand in what it promised.
    pub(super) fn next_unsent(&mut self) -> io::Result<Option<&Outgoing>> {
        let Some((seq, entry)) = self.window.unsent() else { return Ok(None) };
        match &entry.kept {
            Kept::InMemory(outgoing) => Ok(Some(outgoing)),
            Kept::Spooled(extent) => {
                if self.loaded.as_ref().is_none_or(|loaded| loaded.seq != seq) {
                    self.loaded = Some(from_bytes(&self.spool.get(*extent)?)?);
                }
                Ok(self.loaded.as_ref())
            }
        }
    }

    /// The frame `seq` went to the present connection.
    pub(super) fn sent(&mut self, seq: u64) {
        self.window.sent(seq);
        self.loaded = None;
    }

    /// The number of the first frame that the next connection will carry.
    pub(super) fn first_seq(&self) -> u64 {
        self.window.first_seq()
    }

    /// What of grants is not acknowledged, frame by frame.
    pub(super) fn unacknowledged(&self) -> Vec<UnderWay> {
        self.window.iter().filter_map(|entry| entry.under_way.clone()).collect()
    }

    /// Whether enough waits that no more should be made. Cut off from the master, the spool takes what memory should not.
    pub(super) fn is_full(&self, cut_off: bool) -> bool {
        self.bytes >= OUTBOX_BYTES && !(cut_off && self.spool.takes())
    }

    /// Whether the master has everything.
    pub(super) fn is_empty(&self) -> bool {
        self.window.is_empty()
    }

    /// Drops everything: it belongs to a plan that nobody asks for any more. Numbers go on.
    pub(super) fn clear(&mut self) {
        for entry in self.window.clear() {
            entry.let_go(&mut self.bytes, &mut self.spool);
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
    /// The body, wherever it travels.
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

fn under_way(body: &Body, assignment: &Arc<Assignment>) -> Option<UnderWay> {
    let (grant, unit, samples) = match body {
        Body::Results(results) => {
            let samples = results.samples.iter().map(|result| result.index).collect();
            (results.grant?, results.unit, samples)
        }
        Body::Report(report) => (report.grant?, report.unit, Vec::new()),
        _ => return None,
    };
    Some(UnderWay { grant: grant.into(), unit: UnitId(unit), samples, assignment: assignment.clone() })
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
    fn a_frame_goes_once_per_connection_until_it_is_acknowledged() {
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
    fn an_old_acknowledgement_and_one_of_the_future_are_harmless() {
        let mut outbox = empty();
        (0..3).for_each(|task| outbox.push(small(task)));
        outbox.acknowledged(2);
        outbox.acknowledged(1);
        assert_eq!(send_all(&mut outbox), [3]);
        outbox.acknowledged(99);
        outbox.push(small(7));
        assert_eq!(send_all(&mut outbox), [4]);
    }

    /// A frame of one result of so many bytes.
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
    fn a_large_body_of_whatever_kind_is_attached_and_counts_towards_the_bound() {
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

    /// What goes over a connection, as a master would read it.
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
    fn what_memory_should_not_hold_waits_on_disk_and_goes_out_the_same_as_often_as_needed() {
        let mut outbox = empty();
        outbox.push(large(0, OUTBOX_BYTES));
        let in_memory = outbox.bytes;
        // Some are spilled, some are not.
        let said: Vec<_> = (1..=100).map(|sample| large(sample, 3_000 * sample as usize)).collect();
        for body in said.clone() {
            assert!(!outbox.is_full(true), "cut off, the spool takes it");
            outbox.push_of(&Arc::default(), body);
        }
        assert!(outbox.is_full(false), "with the master there, slots wait");
        assert_eq!(outbox.bytes, in_memory, "none of it is in memory");
        let listed = outbox.unacknowledged();
        assert_eq!((listed.len(), &listed[3].samples), (100, &vec![4]));
        for _ in 0..2 {
            outbox.rewind();
            let sent = transmit(&mut outbox);
            assert_eq!(sent.len(), 101);
            for ((_, body), said) in sent[1..].iter().zip(&said) {
                assert_eq!(body.as_ref(), Some(said));
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
        let mut outbox = Outbox::new(Box::new(Full));
        (0..6000).for_each(|sample| outbox.push(large(sample, 1000)));
        assert!(outbox.is_full(true));
        assert_eq!(transmit(&mut outbox).len(), 6000);
        outbox.clear();
        assert!(outbox.is_empty() && outbox.bytes == 0);
    }

    #[test]
    fn what_is_rejected_three_times_gives_way_to_the_failure_of_its_samples_and_then_to_nothing() {
        let mut outbox = empty();
        // One in memory, one in the spool; both too large for a frame.
        outbox.push_of(&Arc::default(), large(5, OUTBOX_BYTES));
        outbox.push_of(&Arc::default(), large(6, 300_000));
        outbox.push(small(9));
        for (seq, sample) in [(1, 5), (2, 6)] {
            assert_eq!(outbox.rejected(seq, "no").unwrap(), Rejection::Again);
            assert_eq!(outbox.rejected(seq, "no").unwrap(), Rejection::Again);
            assert!(matches!(outbox.rejected(seq, "no").unwrap(), Rejection::Replaced { .. }));
            outbox.rewind();
            let sent = transmit(&mut outbox);
            assert_eq!(sent.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [1, 2, 3], "no number is left out");
            let Some(Body::Results(results)) = &sent[seq as usize - 1].1 else { panic!("{sent:?}") };
            assert_eq!((results.grant, results.samples[0].index), (Some(GrantId::new(2, 7, 1).into()), sample));
            let Some(v1::sample_result::Outcome::Failed(reason)) = &results.samples[0].outcome else { panic!() };
            assert!(reason.contains("no"), "{reason}");
        }
        assert_eq!(outbox.unacknowledged().len(), 2);
        for _ in 0..2 {
            assert_eq!(outbox.rejected(1, "not even that").unwrap(), Rejection::Again);
        }
        assert!(matches!(outbox.rejected(1, "not even that").unwrap(), Rejection::Replaced { .. }));
        outbox.rewind();
        assert_eq!(transmit(&mut outbox)[0], (1, None));
        assert_eq!(outbox.rejected(99, "never sent").unwrap(), Rejection::Again);
        outbox.acknowledged(3);
        assert!(outbox.is_empty() && outbox.bytes == 0);
    }

    #[test]
    fn rejections_of_different_frames_are_not_added_up() {
        let mut outbox = empty();
        (0..2).for_each(|task| outbox.push(small(task)));
        for seq in [1, 2, 1, 2, 1, 2] {
            assert_eq!(outbox.rejected(seq, "no").unwrap(), Rejection::Again);
        }
    }
}
