//! A sequence that decodes.

use super::queue::SequenceRequest;
use super::slots::Slots;
use crate::kv::Arena;

/// A sequence in its slot.
pub(super) struct RunningSequence<T> {
    pub(super) sequence: SequenceRequest<T>,
    pub(super) slot: usize,
    /// Its own, unlike the slot's.
    pub(super) number: u64,
    /// Tokens of the prompt and those generated; the last one is not fed yet, once it is a generated one.
    pub(super) seen: Vec<u32>,
    /// Tokens after these that steps under way choose.
    pub(super) late: usize,
}

impl<T> RunningSequence<T> {
    pub(super) fn generated(&self) -> usize {
        self.seen.len() - self.sequence.prompt.len()
    }

    /// Tokens that are generated once all steps under way are read.
    pub(super) fn generated_then(&self) -> usize {
        self.generated() + self.late
    }

    /// Returns the room, in tokens, that its slot must have for what the next step feeds: that which it has, unless it must
    /// grow.
    pub(super) fn room_wanted(&self, slots: &Slots, arena: &Arena) -> usize {
        let most = self.sequence.most();
        slots.room_for(arena, self.slot, (self.seen.len() + self.late).min(most), most)
    }
}
