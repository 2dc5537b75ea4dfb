//! Windows of both ends of a session: frames sent until they are acknowledged, and frames handled exactly once.
//!
//! Numbers start at 1 without gaps; 0 marks frames that are never replayed. A session outlives its connections: on a
//! new one, [`SendWindow::rewind`] sends every unacknowledged frame again under its own number. Pure.

use std::collections::VecDeque;

/// Number of a frame within its session and direction; 0 for a frame without one.
pub type Seq = u64;

/// Unacknowledged frames of one direction, oldest first, each with what its sender keeps.
#[derive(Clone, Debug)]
pub struct SendWindow<E> {
    /// Numbers are consecutive; the last one is `last`.
    entries: VecDeque<E>,
    last: Seq,
    /// The highest number sent on the current connection.
    sent: Seq,
    rejections: Rejections,
}

impl<E> Default for SendWindow<E> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), last: 0, sent: 0, rejections: Rejections::default() }
    }
}

impl<E> SendWindow<E> {
    /// Appends a frame and returns its number.
    pub fn push(&mut self, entry: E) -> Seq {
        self.last += 1;
        self.entries.push_back(entry);
        self.last
    }

    /// Returns the number of the oldest frame kept, or of the next one if none is.
    pub fn first_seq(&self) -> Seq {
        self.last + 1 - self.entries.len() as Seq
    }

    /// Returns the number of the next frame.
    pub fn next_seq(&self) -> Seq {
        self.last + 1
    }

    /// Returns the oldest frame that was not sent on the current connection.
    pub fn unsent(&self) -> Option<(Seq, &E)> {
        let seq = self.first_seq().max(self.sent + 1);
        self.get(seq).map(|entry| (seq, entry))
    }

    /// Marks the frames up to `seq` as sent on the current connection.
    pub fn sent(&mut self, seq: Seq) {
        self.sent = self.sent.max(seq);
    }

    /// Starts a new connection: every kept frame is sent again.
    pub fn rewind(&mut self) {
        self.sent = 0;
    }

    /// Drops the frames up to `seq`, which the peer has handled, and returns them. A late acknowledgement drops
    /// nothing.
    pub fn acknowledged(&mut self, seq: Seq) -> impl Iterator<Item = E> + '_ {
        let count = (seq.min(self.last) + 1).saturating_sub(self.first_seq());
        self.entries.drain(..count as usize)
    }

    /// Counts a rejection of the frame `seq` by the peer; returns the number of rejections in a row.
    pub fn rejected(&mut self, seq: Seq) -> u32 {
        self.rejections.count(seq)
    }

    /// Resets the rejections of the frame `seq`, which was replaced.
    pub fn replaced(&mut self, seq: Seq) {
        self.rejections = Rejections { seq, times: 0 };
    }

    /// Returns the entry of a kept frame.
    pub fn get(&self, seq: Seq) -> Option<&E> {
        self.entries.get(self.place(seq)?)
    }

    /// Returns the entry of a kept frame, mutable.
    pub fn get_mut(&mut self, seq: Seq) -> Option<&mut E> {
        let place = self.place(seq)?;
        self.entries.get_mut(place)
    }

    fn place(&self, seq: Seq) -> Option<usize> {
        usize::try_from(seq.checked_sub(self.first_seq())?).ok()
    }

    /// Entries of the kept frames, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        self.entries.iter()
    }

    /// Entries of the kept frames, oldest first, mutable.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut E> {
        self.entries.iter_mut()
    }

    /// Returns whether the peer has handled every frame.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of kept frames.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}

/// Handling of a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Handle it.
    New,
    /// Ignore it: it was handled before.
    Repeat,
    /// Close the connection: a frame before it is missing and would otherwise count as handled.
    Gap,
}

/// Frames of the other direction: which were handled, and whose consequences are durable.
#[derive(Clone, Debug, Default)]
pub struct ReceiveWindow {
    handled: Seq,
    /// As long as no frame was handled, the number from which the peer continues, as it may have talked to another end
    /// before; 0 if unknown.
    first: Seq,
    durable: Seq,
    owed: bool,
    rejections: Rejections,
}

impl ReceiveWindow {
    /// Notes the number from which the peer continues: earlier frames that were not handled never arrive. The peer may
    /// have talked to another end in between, or have dropped frames that are no longer needed.
    pub fn continues_from(&mut self, first: Seq) {
        self.first = first;
        if self.handled > 0 {
            self.handled = self.handled.max(first.saturating_sub(1));
        }
    }

    /// Classifies a frame by its number. Frames without a number are always new.
    pub fn accept(&self, seq: Seq) -> Arrival {
        match (seq, self.handled, self.first) {
            (0, ..) | (_, 0, 0) => Arrival::New,
            (_, 0, first) if seq == first || seq == 1 => Arrival::New,
            (_, handled, _) if seq <= handled => Arrival::Repeat,
            (_, handled, _) if handled.checked_add(1) == Some(seq) => Arrival::New,
            _ => Arrival::Gap,
        }
    }

    /// Marks the frame as handled.
    pub fn handled(&mut self, seq: Seq) {
        self.handled = self.handled.max(seq);
    }

    /// Returns the number of the last frame handled.
    pub fn last_handled(&self) -> Seq {
        self.handled
    }

    /// Returns the number of the next frame to handle.
    pub fn next_seq(&self) -> Seq {
        if self.handled == 0 { self.first.max(1) } else { self.handled.saturating_add(1) }
    }

    /// Counts a rejection of the next frame; returns its number and the number of rejections in a row.
    pub fn reject(&mut self) -> (Seq, u32) {
        let seq = self.next_seq();
        (seq, self.rejections.count(seq))
    }

    /// Marks the consequences of the frames up to `seq` as durable; the peer needs an acknowledgement.
    pub fn durable(&mut self, seq: Seq) {
        if seq > self.durable {
            (self.durable, self.owed) = (seq, true);
        }
    }

    /// Returns the number to acknowledge with a frame that is sent now; the peer needs no other acknowledgement after
    /// it.
    pub fn acknowledge(&mut self) -> Seq {
        self.owed = false;
        self.durable
    }

    /// Returns the last durable number, which may not have been acknowledged yet.
    pub fn last_durable(&self) -> Seq {
        self.durable
    }

    /// Returns whether an acknowledgement is due.
    pub fn owes(&self) -> bool {
        self.owed
    }
}

/// Number of times that the same frame was rejected in a row.
#[derive(Clone, Copy, Debug, Default)]
struct Rejections {
    seq: Seq,
    times: u32,
}

impl Rejections {
    fn count(&mut self, seq: Seq) -> u32 {
        if self.seq != seq {
            *self = Self { seq, times: 0 };
        }
        self.times += 1;
        self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An event between the two ends.
    #[derive(Clone, Debug)]
    enum Step {
        Push,
        /// The next frame is sent, if the connection is up.
        Send,
        /// The oldest frame in transit arrives.
        Arrive,
        /// The consequences at the receiver become durable.
        Durable,
        /// The receiver acknowledges; the acknowledgement is lost if the connection breaks.
        Acknowledge,
        AcknowledgementArrives,
        /// The connection breaks and loses everything in transit; a new one is made.
        Break,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            3 => Just(Step::Push),
            6 => Just(Step::Send),
            6 => Just(Step::Arrive),
            2 => Just(Step::Durable),
            2 => Just(Step::Acknowledge),
            2 => Just(Step::AcknowledgementArrives),
            1 => Just(Step::Break),
        ];
        prop::collection::vec(step, 0..400)
    }

    proptest! {
        #[test]
        fn over_any_links_everything_is_handled_once_and_in_order(steps in steps(), first in 0_u64..2) {
            let (mut sender, mut receiver) = (SendWindow::default(), ReceiveWindow::default());
            receiver.continues_from(first);
            let (mut link, mut back) = (VecDeque::new(), VecDeque::new());
            let (mut pushed, mut handled, mut durable) = (0_u64, Vec::new(), 0);
            // Finally, a connection that holds until everything has arrived.
            let end = [Step::Break].into_iter().chain((0..500).flat_map(|_| {
                [Step::Send, Step::Arrive, Step::Durable, Step::Acknowledge, Step::AcknowledgementArrives]
            }));
            for step in steps.into_iter().chain(end) {
                match step {
                    Step::Push => {
                        pushed += 1;
                        prop_assert_eq!(sender.push(pushed), pushed);
                    }
                    Step::Send => {
                        if let Some((seq, entry)) = sender.unsent() {
                            link.push_back((seq, *entry));
                            sender.sent(seq);
                        }
                    }
                    Step::Arrive => if let Some((seq, entry)) = link.pop_front() {
                        match receiver.accept(seq) {
                            Arrival::New => {
                                handled.push(entry);
                                receiver.handled(seq);
                            }
                            Arrival::Repeat => {}
                            Arrival::Gap => prop_assert!(false, "frame {} after {}", seq, receiver.last_handled()),
                        }
                    }
                    Step::Durable => {
                        durable = receiver.last_handled();
                        receiver.durable(durable);
                    }
                    Step::Acknowledge => if receiver.owes() {
                        back.push_back(receiver.acknowledge());
                    }
                    Step::AcknowledgementArrives => if let Some(seq) = back.pop_front() {
                        for entry in sender.acknowledged(seq) {
                            prop_assert!(entry <= durable, "{} was dropped, but only {} is durable", entry, durable);
                        }
                    }
                    Step::Break => {
                        link.clear();
                        back.clear();
                        sender.rewind();
                        // The receiver acknowledges again.
                        back.push_back(receiver.acknowledge());
                    }
                }
            }
            prop_assert_eq!(handled, (1..=pushed).collect::<Vec<_>>());
            prop_assert!(sender.is_empty());
        }
    }

    #[test]
    fn a_frame_that_leaves_others_out_is_a_gap() {
        let mut window = ReceiveWindow::default();
        window.continues_from(4);
        assert_eq!(
            [3, 4, 5, 0].map(|seq| window.accept(seq)),
            [Arrival::Gap, Arrival::New, Arrival::Gap, Arrival::New]
        );
        window.handled(4);
        assert_eq!([4, 5, 6].map(|seq| window.accept(seq)), [Arrival::Repeat, Arrival::New, Arrival::Gap]);
        assert_eq!(window.accept(u64::MAX), Arrival::Gap);
        // The peer talked to another end in between and dropped its frames for this one.
        window.continues_from(9);
        assert_eq!([8, 9, 10].map(|seq| window.accept(seq)), [Arrival::Repeat, Arrival::New, Arrival::Gap]);
        window.continues_from(7);
        assert_eq!(window.accept(9), Arrival::New, "handled frames stay handled");
    }

    #[test]
    fn rejections_add_up_for_one_frame_alone() {
        let mut window = SendWindow::default();
        (0..3).for_each(|at| _ = window.push(at));
        assert_eq!([1, 2, 1, 1].map(|seq| window.rejected(seq)), [1, 1, 1, 2]);
        window.replaced(1);
        assert_eq!(window.rejected(1), 1);
        let mut received = ReceiveWindow::default();
        received.continues_from(7);
        assert_eq!([received.reject(), received.reject()], [(7, 1), (7, 2)]);
        received.handled(7);
        assert_eq!(received.reject(), (8, 1));
    }

    #[test]
    fn acknowledgements_of_the_past_and_of_the_future_are_harmless() {
        let mut window = SendWindow::default();
        (1..=3).for_each(|at| _ = window.push(at));
        assert_eq!(window.acknowledged(2).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(window.acknowledged(1).count(), 0);
        assert_eq!((window.first_seq(), window.unsent()), (3, Some((3, &3))));
        assert_eq!(window.acknowledged(u64::MAX).collect::<Vec<_>>(), [3]);
        assert_eq!((window.push(9), window.unsent()), (4, Some((4, &9))));
        assert_eq!((window.get(4), window.get(3), window.get(5)), (Some(&9), None, None));
    }
}
