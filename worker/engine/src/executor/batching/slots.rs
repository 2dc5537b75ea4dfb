//! Slots: key-value caches with the prompts that they hold. Slots outlive sequences and batches, so that the next
//! prompt with the same prefix reuses the content of a free slot.

use super::budget::Budget;
use super::prompt::TokenPrompt;
use crate::blocks::KvCache;
use crate::models::CausalLm;
use compass_plan::engine::PrefixSegment;
use std::collections::HashSet;
use tch::{TchError, Tensor};

/// The slots of one model.
pub(crate) struct Slots {
    budget: Budget,
    /// Caches by slot number, as forward passes take them.
    pub(super) caches: Vec<KvCache>,
    contents: Vec<SlotContent>,
    clock: u64,
    /// Digests of all prefixes that were ever computed, each up to one of its cuts.
    known: HashSet<u64>,
    /// New prefix segments of the last batches that other prompts may share.
    new_segments: Vec<PrefixSegment>,
}

/// Content of a slot.
struct SlotContent {
    prompt: TokenPrompt,
    /// Number of the prompt's tokens in the cache.
    computed: usize,
    /// `[1, hidden]`: the state after the prompt's last token, once it is computed.
    last: Option<Tensor>,
    busy: bool,
    /// When the slot was last assigned.
    taken: u64,
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
    /// Creates no slot yet; at most `most` of them, 0 for the default number, if `free` bytes suffice.
    pub(crate) fn new(most: usize, free: usize) -> Self {
        Self {
            budget: Budget::new(most, free),
            caches: Vec::new(),
            contents: Vec::new(),
            clock: 0,
            known: HashSet::new(),
            new_segments: Vec::new(),
        }
    }

    /// Maximum number of concurrent sequences.
    pub(super) fn most(&self) -> usize {
        self.budget.slots()
    }

    /// Halves the number of concurrent sequences and frees all memory: running sequences must restart. Returns `false`
    /// if fewer than one would be left.
    pub(super) fn shrink(&mut self) -> bool {
        self.caches.clear();
        self.contents.clear();
        self.budget.halve()
    }

    /// Assigns a slot with room for `room` tokens to a prompt, with the longest prefix of the prompt that any slot
    /// holds.
    ///
    /// # Errors
    /// The memory does not suffice.
    pub(super) fn admit(
        &mut self,
        model: &dyn CausalLm,
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
        let Some(slot) = self.choose(model, prompt, room, in_place)? else { return Ok(Admission::Full) };
        let last = source.and_then(|source| self.last_of(source, prompt));
        // A chosen slot keeps its own content.
        if let Some(source) = source.filter(|&source| source != slot && self.own(slot, prompt) < in_place)
            && let Ok([from, to]) = self.caches.get_disjoint_mut([source, slot])
        {
            to.fork_from(from, in_place)?;
        }
        self.clock += 1;
        // A whole prompt without its last state must compute its last piece again.
        let computed = match last {
            None if in_place == prompt.len() => prompt.pieces(0).last().map_or(0, |(start, _)| start),
            _ => in_place,
        };
        self.contents[slot] = SlotContent { prompt: prompt.clone(), computed, last, busy: true, taken: self.clock };
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
    /// new one, otherwise the one free for the longest time.
    fn choose(
        &mut self,
        model: &dyn CausalLm,
        prompt: &TokenPrompt,
        room: usize,
        in_place: usize,
    ) -> Result<Option<usize>, TchError> {
        let free: Vec<usize> = (0..self.contents.len()).filter(|&slot| !self.contents[slot].busy).collect();
        let fits = |slot: &usize| self.caches[*slot].capacity() >= room;
        if in_place > 0
            && let Some(&slot) = free.iter().find(|slot| fits(slot) && self.own(**slot, prompt) == in_place)
        {
            return Ok(Some(slot));
        }
        if self.budget.allows(&self.caches, room) {
            self.caches.push(model.cache(room)?);
            self.contents.push(SlotContent::nothing());
            return Ok(Some(self.contents.len() - 1));
        }
        let oldest = |slots: Vec<usize>| slots.into_iter().min_by_key(|&slot| self.contents[slot].taken);
        if let Some(slot) = oldest(free.iter().copied().filter(fits).collect()) {
            return Ok(Some(slot));
        }
        // No slot is large enough: one of them grows, if that leaves enough for the others; alone it always may.
        let Some(slot) = oldest(free) else { return Ok(None) };
        let others = self.contents.iter().filter(|content| content.busy).count();
        if others > 0 && !self.budget.allows_in_place(&self.caches, slot, room) {
            return Ok(None);
        }
        let grown = model.cache(room)?;
        let old = std::mem::replace(&mut self.caches[slot], grown);
        let kept = self.own(slot, prompt);
        self.caches[slot].fork_from(&old, kept)?;
        Ok(Some(slot))
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
    fn nothing() -> Self {
        Self { prompt: TokenPrompt::new(&[], &[]), computed: 0, last: None, busy: false, taken: 0 }
    }
}
