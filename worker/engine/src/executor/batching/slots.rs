//! Slots: extents of the arena with the prompts that they hold. Slots outlive sequences and batches, so that the next
//! prompt with the same prefix reuses the content of a free slot.

use super::prompt::TokenPrompt;
use crate::kv::{Arena, ExtentId, reserve};
use crate::models::CausalLm;
use compass_plan::engine::PrefixSegment;
use std::collections::HashSet;
use tch::{TchError, Tensor};

/// Maximum number of concurrent sequences if memory allows. Matrix products of fewer than 16 rows are padded anyway; up
/// to twice as many still cost less per row, since the weights are read once for all of them.
const DEFAULT_SLOTS: usize = 32;

/// The slots of one model.
pub(crate) struct Slots {
    /// Maximum number of concurrent sequences.
    most: usize,
    contents: Vec<SlotContent>,
    clock: u64,
    /// Digests of all prefixes that were ever computed, each up to one of its cuts.
    known: HashSet<u64>,
    /// New prefix segments of the last batches that other prompts may share.
    new_segments: Vec<PrefixSegment>,
}

/// Content of a slot.
struct SlotContent {
    extent: ExtentId,
    prompt: TokenPrompt,
    /// Number of the prompt's tokens in the extent.
    computed: usize,
    /// `[1, hidden]`: the state after the prompt's last token, once it is computed.
    last: Option<Tensor>,
    busy: bool,
    /// When the slot was last assigned.
    taken: u64,
}

/// Where there is room for a prompt.
enum Choice {
    /// In this slot.
    Slot(usize),
    /// Nowhere, while others are busy.
    Full,
    /// Nowhere, and no slot is busy: the arena is too small.
    Alone,
}

/// Result of a prompt's request for a slot.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// The prompt has this slot.
    Slot(usize),
    /// Another prompt with the same prefix is being computed: waiting saves computing it twice.
    Wait,
    /// No memory is left.
    Full,
}

impl Slots {
    /// Creates no slot yet; at most `most` of them, 0 for the default number.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most: if most == 0 { DEFAULT_SLOTS } else { most },
            contents: Vec::new(),
            clock: 0,
            known: HashSet::new(),
            new_segments: Vec::new(),
        }
    }

    /// Maximum number of concurrent sequences.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Halves the number of concurrent sequences and frees the arena: running sequences must restart. Returns `false` if
    /// fewer than one would be left.
    pub(super) fn shrink(&mut self, arena: &mut Arena) -> bool {
        self.forget(arena);
        let more = self.most > 1;
        self.most = (self.most / 2).max(1);
        more
    }

    /// Frees the arena of what is kept between batches.
    pub(crate) fn forget(&mut self, arena: &mut Arena) {
        self.contents.clear();
        arena.clear();
    }

    /// Assigns a slot with room for `room` tokens to a prompt, with the longest prefix of the prompt that any slot
    /// holds.
    ///
    /// # Errors
    /// The memory does not suffice.
    pub(super) fn admit(
        &mut self,
        model: &dyn CausalLm,
        arena: &mut Arena,
        prompt: &TokenPrompt,
        room: usize,
    ) -> Result<Admission, TchError> {
        let busy = self.contents.iter().filter(|content| content.busy);
        let promised = busy.map(|content| content.prompt.shared(prompt)).max().unwrap_or(0);
        let (mut source, mut in_place) = (None, 0);
        for (number, content) in self.contents.iter().enumerate() {
            let have = content.prompt.shared(prompt).min(content.computed);
            if have > in_place {
                (source, in_place) = (Some(number), have);
            }
        }
        if promised > in_place {
            return Ok(Admission::Wait);
        }
        let last = source.and_then(|source| self.last_of(source, prompt));
        let from = source.map(|source| self.contents[source].extent);
        // The content stays in the arena while it is copied, even if its slot makes room.
        from.into_iter().for_each(|from| arena.retain(from));
        let choice = self.choose(arena, (prompt, room), in_place);
        let copied = match (&choice, from) {
            // A chosen slot keeps its own content.
            (Choice::Slot(slot), Some(from)) if self.own(*slot, prompt) < in_place => {
                arena.copy(from, self.contents[*slot].extent, in_place)
            }
            _ => Ok(()),
        };
        from.into_iter().for_each(|from| arena.release(from));
        copied?;
        let (slot, in_place, last) = match choice {
            Choice::Slot(slot) => (slot, in_place, last),
            Choice::Full => return Ok(Admission::Full),
            Choice::Alone => {
                // A sequence that is alone always fits, unless the memory does not suffice.
                self.contents.clear();
                arena.replace(|| reserve(model, room))?;
                let Some(extent) = arena.allocate(room) else { return Ok(Admission::Full) };
                self.contents.push(SlotContent::nothing(extent));
                (0, 0, None)
            }
        };
        self.clock += 1;
        // A whole prompt without its last state must compute its last piece again.
        let computed = match last {
            None if in_place == prompt.len() => prompt.pieces(0).last().map_or(0, |(start, _)| start),
            _ => in_place,
        };
        let extent = self.contents[slot].extent;
        let taken = self.clock;
        self.contents[slot] = SlotContent { extent, prompt: prompt.clone(), computed, last, busy: true, taken };
        Ok(Admission::Slot(slot))
    }

    /// Returns the number of tokens of `prompt` that a slot holds.
    fn own(&self, slot: usize, prompt: &TokenPrompt) -> usize {
        self.contents.get(slot).map_or(0, |content| content.prompt.shared(prompt).min(content.computed))
    }

    /// Returns the state after the last token of `prompt` if a slot holds it.
    fn last_of(&self, slot: usize, prompt: &TokenPrompt) -> Option<Tensor> {
        let content = self.contents.get(slot).filter(|content| content.prompt == *prompt)?;
        content.last.as_ref().map(Tensor::shallow_clone)
    }

    /// Returns a free slot of sufficient size: one that holds as much of the prompt as any (`in_place`), otherwise a
    /// new one, otherwise the one free for the longest time; where none is large enough, free ones make room for a new
    /// one.
    fn choose(&mut self, arena: &mut Arena, (prompt, room): (&TokenPrompt, usize), in_place: usize) -> Choice {
        let mut free: Vec<usize> = (0..self.contents.len()).filter(|&slot| !self.contents[slot].busy).collect();
        free.sort_by_key(|&slot| self.contents[slot].taken);
        let fits = |slot: &usize| arena.room(self.contents[*slot].extent) >= room;
        let mut holding = free.iter().filter(|slot| fits(slot) && self.own(**slot, prompt) == in_place);
        if in_place > 0
            && let Some(&slot) = holding.next()
        {
            return Choice::Slot(slot);
        }
        let fitting = free.iter().copied().find(fits);
        if self.contents.len() < self.most
            && let Some(extent) = arena.allocate(room)
        {
            self.contents.push(SlotContent::nothing(extent));
            return Choice::Slot(self.contents.len() - 1);
        }
        if let Some(slot) = fitting {
            return Choice::Slot(slot);
        }
        // Slots keep their numbers, so that those that made room stay, without an extent.
        for slot in free {
            arena.release(self.contents[slot].extent);
            let extent = arena.allocate(room);
            self.contents[slot] = SlotContent::nothing(extent.unwrap_or(ExtentId::NONE));
            if extent.is_some() {
                return Choice::Slot(slot);
            }
        }
        if self.contents.iter().any(|content| content.busy) { Choice::Full } else { Choice::Alone }
    }

    /// Notes that the prompt in a slot was computed up to `end`, which is a cut; with the whole prompt, its last state.
    pub(super) fn computed(&mut self, slot: usize, end: usize, last: Option<Tensor>) {
        if let Some(content) = self.contents.get_mut(slot) {
            content.computed = end;
            content.last = last;
        }
    }

    /// Whether the tokens of a prompt between the cuts `start` and `end` were never computed before: tokens that are
    /// computed again, because their slot was reused, are not distinct.
    pub(super) fn is_new(&mut self, prompt: &TokenPrompt, (start, end): (usize, usize)) -> bool {
        let path = prompt.digest(end);
        let new = self.known.insert(path);
        if new && prompt.is_common(end) {
            self.new_segments.push(PrefixSegment { path, tokens: (end - start) as u32 });
        }
        new
    }

    /// Returns new prefix segments since the last call that other engines may compute too.
    pub(crate) fn take_prefix_segments(&mut self) -> Vec<PrefixSegment> {
        std::mem::take(&mut self.new_segments)
    }

    /// The extent of a slot.
    pub(super) fn extent(&self, slot: usize) -> ExtentId {
        self.contents.get(slot).map_or(ExtentId::NONE, |content| content.extent)
    }

    /// Returns the number of the prompt's tokens that a slot holds, and the state after the last of them if that is its
    /// end.
    pub(super) fn progress(&self, slot: usize) -> (usize, Option<&Tensor>) {
        self.contents.get(slot).map_or((0, None), |content| (content.computed, content.last.as_ref()))
    }

    /// Frees a slot; its content stays until it is reused.
    pub(super) fn release(&mut self, slot: usize) {
        if let Some(content) = self.contents.get_mut(slot) {
            content.busy = false;
        }
    }

    /// Frees all slots after an aborted batch.
    pub(super) fn release_all(&mut self) {
        self.contents.iter_mut().for_each(|content| content.busy = false);
    }
}

impl SlotContent {
    fn nothing(extent: ExtentId) -> Self {
        Self { extent, prompt: TokenPrompt::new(&[], &[]), computed: 0, last: None, busy: false, taken: 0 }
    }
}
