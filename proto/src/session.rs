//! What both ends of a session count: frames that are sent until they are acknowledged, and frames that are handled once.
//!
//! Numbers begin at 1 and leave none out; 0 is the number of frames that are never replayed. A session outlives its links: on
//! a new one [`SendWindow::rewind`] makes everything that is not acknowledged go out again under its own number. Pure.

use std::collections::VecDeque;

/// The number of a frame within its session and direction; 0 where it has none.
pub type Seq = u64;

/// Frames of one direction that are not acknowledged, oldest first, with what their sender keeps of each.
#[derive(Clone, Debug)]
pub struct SendWindow<E> {
    /// Numbers are consecutive; the last one is `last`.
    entries: VecDeque<E>,
    last: Seq,
    /// The highest number handed to the present link.
    sent: Seq,
    rejections: Rejections,
}

impl<E> Default for SendWindow<E> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), last: 0, sent: 0, rejections: Rejections::default() }
    }
}

impl<E> SendWindow<E> {
    /// Appends a frame; its number.
    pub fn push(&mut self, entry: E) -> Seq {
        self.last += 1;
        self.entries.push_back(entry);
        self.last
    }

    /// The number of the oldest frame that is kept, or of the next one where none is.
    pub fn first_seq(&self) -> Seq {
        self.last + 1 - self.entries.len() as Seq
    }

    /// The number of the next frame.
    pub fn next_seq(&self) -> Seq {
        self.last + 1
    }

    /// The oldest frame that the present link has not carried.
    pub fn unsent(&self) -> Option<(Seq, &E)> {
        let seq = self.first_seq().max(self.sent + 1);
        self.get(seq).map(|entry| (seq, entry))
    }

    /// The present link carried the frames up to `seq`.
    pub fn sent(&mut self, seq: Seq) {
        self.sent = self.sent.max(seq);
    }

    /// A new link: everything that is kept goes out again.
    pub fn rewind(&mut self) {
        self.sent = 0;
    }

    /// The peer has handled everything up to `seq`; what is let go of. An old acknowledgement lets go of nothing.
    pub fn acknowledged(&mut self, seq: Seq) -> impl Iterator<Item = E> + '_ {
        let count = (seq.min(self.last) + 1).saturating_sub(self.first_seq());
        self.entries.drain(..count as usize)
    }

    /// The peer cannot take the frame `seq`: how often it said so in a row.
    pub fn rejected(&mut self, seq: Seq) -> u32 {
        self.rejections.count(seq)
    }

    /// Forgets how often the frame `seq` was rejected: something else stands in its place.
    pub fn replaced(&mut self, seq: Seq) {
        self.rejections = Rejections { seq, times: 0 };
    }

    /// The entry of a frame that is kept.
    pub fn get(&self, seq: Seq) -> Option<&E> {
        self.entries.get(self.place(seq)?)
    }

    /// The entry of a frame that is kept, to be changed in its place.
    pub fn get_mut(&mut self, seq: Seq) -> Option<&mut E> {
        let place = self.place(seq)?;
        self.entries.get_mut(place)
    }

    fn place(&self, seq: Seq) -> Option<usize> {
        usize::try_from(seq.checked_sub(self.first_seq())?).ok()
    }

    /// What is kept, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        self.entries.iter()
    }

    /// What is kept, oldest first, to be changed in its place.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut E> {
        self.entries.iter_mut()
    }

    /// Lets go of everything. Numbers go on.
    pub fn clear(&mut self) -> impl Iterator<Item = E> + '_ {
        self.entries.drain(..)
    }

    /// Whether the peer has everything.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Frames that are kept.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}

/// What to do with a frame that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Handle it.
    New,
    /// It was handled already.
    Repeat,
    /// One before it is missing, which would look handled: close the link.
    Gap,
}

/// Frames of the other direction: which were handled, and of which the consequences are durable.
#[derive(Clone, Debug, Default)]
pub struct ReceiveWindow {
    handled: Seq,
    /// Where nothing was handled yet, the number with which the peer goes on: it may have spoken to another before. 0 where
    /// it may be any.
    first: Seq,
    durable: Seq,
    owed: bool,
    rejections: Rejections,
}

impl ReceiveWindow {
    /// The peer said with which number it goes on: what comes before that, and was not handled, never comes. It may have
    /// spoken to another meanwhile, or have let go of what nobody asks for any more.
    pub fn goes_on_with(&mut self, first: Seq) {
        self.first = first;
        if self.handled > 0 {
            self.handled = self.handled.max(first.saturating_sub(1));
        }
    }

    /// Judges a frame by its number. Frames without one are always new.
    pub fn accept(&self, seq: Seq) -> Arrival {
        match (seq, self.handled, self.first) {
            (0, ..) | (_, 0, 0) => Arrival::New,
            (_, 0, first) if seq == first || seq == 1 => Arrival::New,
            (_, handled, _) if seq <= handled => Arrival::Repeat,
            (_, handled, _) if handled.checked_add(1) == Some(seq) => Arrival::New,
            _ => Arrival::Gap,
        }
    }

    /// The frame was handled.
    pub fn handled(&mut self, seq: Seq) {
        self.handled = self.handled.max(seq);
    }

    /// The highest frame that was handled.
    pub fn last_handled(&self) -> Seq {
        self.handled
    }

    /// The number of the next frame to handle.
    pub fn next_seq(&self) -> Seq {
        if self.handled == 0 { self.first.max(1) } else { self.handled.saturating_add(1) }
    }

    /// Counts a rejection of the next frame: its number, and how often it was rejected in a row.
    pub fn reject(&mut self) -> (Seq, u32) {
        let seq = self.next_seq();
        (seq, self.rejections.count(seq))
    }

    /// The consequences of the frames up to `seq` are durable: the peer is to be told.
    pub fn durable(&mut self, seq: Seq) {
        if seq > self.durable {
            (self.durable, self.owed) = (seq, true);
        }
    }

    /// What to acknowledge with a frame that leaves now: nothing is owed after it.
    pub fn acknowledge(&mut self) -> Seq {
        self.owed = false;
        self.durable
    }

    /// What is durable, which the peer may not have been told.
    pub fn last_durable(&self) -> Seq {
        self.durable
    }

    /// Whether the peer has not been told of all that is durable.
    pub fn owes(&self) -> bool {
        self.owed
    }
}

/// How often the same frame was rejected in a row.
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

    /// What happens between two ends.
    #[derive(Clone, Debug)]
    enum Step {
        Push,
        /// The next frame goes onto the link, if the link is up.
        Send,
        /// The oldest frame of the link arrives.
        Arrive,
        /// The receiver's consequences become durable.
        Durable,
        /// The receiver tells so; the word may be lost with the link.
        Acknowledge,
        AcknowledgementArrives,
        /// The link breaks with all that is on it, and another one comes up.
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
            receiver.goes_on_with(first);
            let (mut link, mut back) = (VecDeque::new(), VecDeque::new());
            let (mut pushed, mut handled, mut durable) = (0_u64, Vec::new(), 0);
            // At the end the link holds until all has arrived.
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
                            prop_assert!(entry <= durable, "{} was let go of, and {} is durable", entry, durable);
                        }
                    }
                    Step::Break => {
                        link.clear();
                        back.clear();
                        sender.rewind();
                        // The peer says again how far all is durable.
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
        window.goes_on_with(4);
        assert_eq!(
            [3, 4, 5, 0].map(|seq| window.accept(seq)),
            [Arrival::Gap, Arrival::New, Arrival::Gap, Arrival::New]
        );
        window.handled(4);
        assert_eq!([4, 5, 6].map(|seq| window.accept(seq)), [Arrival::Repeat, Arrival::New, Arrival::Gap]);
        assert_eq!(window.accept(u64::MAX), Arrival::Gap);
        // It was elsewhere meanwhile, and let go of what it had for us.
        window.goes_on_with(9);
        assert_eq!([8, 9, 10].map(|seq| window.accept(seq)), [Arrival::Repeat, Arrival::New, Arrival::Gap]);
        window.goes_on_with(7);
        assert_eq!(window.accept(9), Arrival::New, "what was handled stays so");
    }

    #[test]
    fn rejections_add_up_for_one_frame_alone() {
        let mut window = SendWindow::default();
        (0..3).for_each(|at| _ = window.push(at));
        assert_eq!([1, 2, 1, 1].map(|seq| window.rejected(seq)), [1, 1, 1, 2]);
        window.replaced(1);
        assert_eq!(window.rejected(1), 1);
        let mut received = ReceiveWindow::default();
        received.goes_on_with(7);
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
