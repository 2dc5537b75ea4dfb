//! Slots: extents of the arena with the prompts that they hold. Slots outlive sequences and batches, so that the next
//! prompt with the same prefix reuses the content of a free slot.
//!
//! The header of a prompt is in an extent that several slots share; a slot's own extent holds what follows it. That has
//! room for some tokens after the prompt, and grows with the answer: a slot holds what a sequence has, not what it may have.

use super::headers::{HeaderId, Headers};
use super::prompt::TokenPrompt;
use super::queue::Room;
use crate::kv::{Arena, ExtentId, Segment, reserve};
use crate::models::CausalLm;
use compass_plan::engine::PrefixSegment;
use std::collections::HashSet;
use std::rc::Rc;
use tch::{Device, TchError, Tensor};

/// Maximum number of concurrent sequences if memory allows. Matrix products of fewer than 16 rows are padded anyway; up
/// to twice as many still cost less per row, since the weights are read once for all of them.
const DEFAULT_SLOTS: usize = 32;

/// The same on a GPU, where a step costs as much for one sequence as for some hundreds.
const GPU_SLOTS: usize = 512;

/// Number of tokens after a prompt for which its slot has room at first: answers of this length never have their keys and
/// values copied, and a longer one costs at most half as much again.
const FIRST_ROOM: usize = 1024;

/// Returns the number of sequences that a model on `device` generates at once, if memory allows.
pub(crate) fn sequences_at_once(device: Device) -> usize {
    if device == Device::Cpu { DEFAULT_SLOTS } else { GPU_SLOTS }
}

/// The slots of one model.
pub(crate) struct Slots {
    /// Maximum number of concurrent sequences.
    most: usize,
    is_ahead: bool,
    /// Number of tokens after a prompt for which there is room at first.
    first_room: usize,
    contents: Vec<SlotContent>,
    headers: Headers,
    clock: u64,
    /// Digests of all prefixes that were computed for the current job, each up to one of its cuts.
    known: HashSet<u64>,
    /// New prefix segments of the last batches that other prompts may share.
    new_segments: Vec<PrefixSegment>,
}

/// Content of a slot.
struct SlotContent {
    /// The extent of what follows the header.
    extent: ExtentId,
    header: Option<HeaderId>,
    /// The extent of the header, if there is one.
    path: Rc<[ExtentId]>,
    prompt: TokenPrompt,
    /// Number of the prompt's tokens that are computed, in the header and here.
    computed: usize,
    /// `[1, hidden]`: the state after the prompt's last token, once it is computed.
    last: Option<Tensor>,
    busy: bool,
    /// Time at which the slot was last assigned.
    taken: u64,
}

/// Part of a prompt that is already computed.
#[derive(Default)]
struct Found {
    /// Its header, of which something may still be missing.
    header: Option<HeaderId>,
    /// Number of tokens.
    tokens: usize,
    /// Extent of the tokens that must be copied; they begin after the prompt's header if that is there.
    from: Option<ExtentId>,
    /// The state after the last token, if all are computed.
    last: Option<Tensor>,
}

/// Result of a prompt's request for room.
enum Assigned {
    /// Slot and header have room for it; the part that was found is in them.
    Slot(usize, Option<HeaderId>),
    /// There is no room while others are busy.
    Full,
    /// There is no room, and no slot is busy.
    Alone,
}

/// Place with room for a prompt.
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
    /// Creates no slot yet; at most `most` of them, 0 for the default number. With `is_ahead` a step is launched before the one
    /// before it is read, which is of use where the host does not compute itself.
    pub(crate) fn new(most: usize, is_ahead: bool) -> Self {
        Self {
            most: if most == 0 { DEFAULT_SLOTS } else { most },
            is_ahead,
            first_room: FIRST_ROOM,
            contents: Vec::new(),
            headers: Headers::default(),
            clock: 0,
            known: HashSet::new(),
            new_segments: Vec::new(),
        }
    }

    /// Has slots begin with room for `first_room` tokens after a prompt, so that short answers grow too.
    #[cfg(test)]
    pub(crate) fn with_first_room(self, first_room: usize) -> Self {
        Self { first_room, ..self }
    }

    /// Maximum number of concurrent sequences.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Returns whether the next step is launched before the one before it is read.
    pub(crate) fn is_ahead(&self) -> bool {
        self.is_ahead
    }

    /// Halves the number of concurrent sequences and frees the arena: running sequences must restart. Returns `false` if
    /// fewer than one would be left.
    pub(super) fn shrink(&mut self, arena: &mut Arena) -> bool {
        self.forget(arena);
        let more = self.most > 1;
        self.most = (self.most / 2).max(1);
        more
    }

    /// Frees the arena of everything that is kept between batches.
    pub(crate) fn forget(&mut self, arena: &mut Arena) {
        self.contents.clear();
        self.headers.clear();
        arena.clear();
    }

    /// Assigns a slot to a prompt, with the longest prefix of the prompt that any slot holds. It has the room that the
    /// sequence had when it went back, or that for a first part of its answer.
    ///
    /// # Errors
    /// The memory does not suffice.
    pub(super) fn admit(
        &mut self,
        model: &dyn CausalLm,
        arena: &mut Arena,
        prompt: &TokenPrompt,
        room: Room,
    ) -> Result<Admission, TchError> {
        let room = Room { least: room.least.max(prompt.len() + self.first_room).min(room.most), ..room };
        let busy = self.contents.iter().filter(|content| content.busy);
        let promised = busy.map(|content| content.prompt.shared(prompt)).max().unwrap_or(0);
        let found = self.find(prompt);
        if promised > found.tokens {
            return Ok(Admission::Wait);
        }
        self.clock += 1;
        // The content stays in the arena while it is copied, even if what holds it makes room.
        found.from.into_iter().for_each(|from| arena.retain(from));
        let assigned = self.assign(arena, (prompt, room), &found);
        found.from.into_iter().for_each(|from| arena.release(from));
        let (slot, header, in_place, last) = match assigned? {
            Assigned::Slot(slot, header) => (slot, header, found.tokens, found.last),
            Assigned::Full => return Ok(Admission::Full),
            // Only now: numbers of extents mean nothing once the arena is replaced.
            Assigned::Alone => match self.begin_alone(model, arena, (prompt, room))? {
                Some((slot, header)) => (slot, header, 0, None),
                None => return Ok(Admission::Full),
            },
        };
        // A whole prompt without its last state must compute its last piece again.
        let computed = match last {
            None if in_place == prompt.len() => prompt.pieces(0).last().map_or(0, |(start, _)| start),
            _ => in_place,
        };
        let path = header.map(|header| self.headers.extent(header)).into_iter().collect();
        let (extent, taken) = (self.contents[slot].extent, self.clock);
        let own = (room.least - prompt.header()).max(1);
        if arena.room(extent) > own + self.first_room {
            // What a longer sequence left.
            arena.shorten(extent, own);
        }
        self.contents[slot] =
            SlotContent { extent, header, path, prompt: prompt.clone(), computed, last, busy: true, taken };
        Ok(Admission::Slot(slot))
    }

    /// Finds as much of a prompt as is computed.
    fn find(&self, prompt: &TokenPrompt) -> Found {
        let header = self.headers.find(prompt);
        let mut found = Found { header, ..Found::default() };
        if let Some(header) = header {
            found.tokens = self.headers.computed(header);
        }
        let begins = header.is_none() || found.tokens == prompt.header();
        for content in self.contents.iter().filter(|_| begins) {
            let have = content.prompt.shared(prompt).min(content.computed);
            if have > found.tokens && (header.is_none() || content.header == header) {
                let in_header = have <= content.prompt.header();
                found.from = Some(if in_header { content.path[0] } else { content.extent });
                found.tokens = have;
            }
            if content.prompt == *prompt && content.computed == prompt.len() {
                found.last = content.last.as_ref().map(Tensor::shallow_clone).or(found.last);
            }
        }
        if header.is_none()
            && let Some((extent, have)) = self.headers.beginning(prompt)
            && have > found.tokens
        {
            (found.from, found.tokens) = (Some(extent), have);
        }
        if found.tokens < prompt.len() {
            found.last = None;
        }
        found
    }

    /// Gives a prompt a slot and its header, and copies there the part of it that was found.
    fn assign(
        &mut self,
        arena: &mut Arena,
        (prompt, room): (&TokenPrompt, Room),
        found: &Found,
    ) -> Result<Assigned, TchError> {
        let is_busy = self.contents.iter().any(|content| content.busy);
        if arena.capacity() < room.most {
            // It could not grow to its end.
            return Ok(if is_busy { Assigned::Full } else { Assigned::Alone });
        }
        let header = match (found.header, prompt.header()) {
            (None, 1..) => self.add_header(arena, prompt),
            (header, _) => header,
        };
        let choice = match (header, prompt.header()) {
            (None, 1..) if is_busy => Choice::Full,
            (None, 1..) => Choice::Alone,
            _ => self.choose(arena, (prompt, room.least - prompt.header()), (header, found.tokens)),
        };
        if let Some(header) = header {
            self.headers.touch(header, self.clock);
        }
        match choice {
            Choice::Slot(slot) => {
                match (found.from, header) {
                    (Some(from), Some(new)) if found.header.is_none() => {
                        arena.copy(from, self.headers.extent(new), found.tokens)?;
                        self.headers.advance(new, found.tokens);
                    }
                    (Some(from), _) if !self.holds(slot, header, (prompt, found.tokens)) => {
                        arena.copy(from, self.contents[slot].extent, found.tokens - prompt.header())?;
                    }
                    _ => {}
                }
                Ok(Assigned::Slot(slot, header))
            }
            Choice::Full => Ok(Assigned::Full),
            Choice::Alone => Ok(Assigned::Alone),
        }
    }

    /// Gives a prompt the whole arena, of which nothing is kept, and another arena if that is too small. A sequence that
    /// is alone always fits, unless the memory does not suffice: then `None`.
    fn begin_alone(
        &mut self,
        model: &dyn CausalLm,
        arena: &mut Arena,
        (prompt, room): (&TokenPrompt, Room),
    ) -> Result<Option<(usize, Option<HeaderId>)>, TchError> {
        self.forget(arena);
        let least = room.most.max(prompt.header() + 1);
        if arena.capacity() < least {
            arena.replace(|freed| reserve(model, least, freed))?;
        }
        if arena.capacity() < least {
            return Ok(None);
        }
        let header = if prompt.header() > 0 { self.add_header(arena, prompt) } else { None };
        if header.is_none() && prompt.header() > 0 {
            return Ok(None);
        }
        let Some(extent) = arena.allocate(room.least - prompt.header()) else { return Ok(None) };
        self.contents.push(SlotContent::nothing(extent));
        Ok(Some((0, header)))
    }

    /// Adds the header of a prompt; free slots, and headers that no busy slot uses, make room for it. `None` if there is no
    /// room.
    fn add_header(&mut self, arena: &mut Arena, prompt: &TokenPrompt) -> Option<HeaderId> {
        loop {
            if let Some(extent) = arena.allocate(prompt.header()) {
                return Some(self.headers.add(extent, prompt));
            }
            if !self.make_room(arena, None) {
                return None;
            }
        }
    }

    /// Frees the slot that is free for the longest time, or else the header that no busy slot uses; `kept` stays. Returns
    /// `false` if there is neither.
    fn make_room(&mut self, arena: &mut Arena, kept: Option<HeaderId>) -> bool {
        let idle = self.contents.iter_mut().filter(|content| !content.busy && content.extent != ExtentId::NONE);
        if let Some(content) = idle.min_by_key(|content| content.taken) {
            arena.release(content.extent);
            // Slots keep their numbers: the slots that made room stay, without an extent.
            *content = SlotContent::nothing(ExtentId::NONE);
            return true;
        }
        let contents = &self.contents;
        let stands = |header| contents.iter().any(|content| content.busy && content.header == Some(header));
        self.headers.evict(arena, |header| Some(header) != kept && !stands(header)).is_some()
    }

    /// Returns whether a slot holds the first `tokens` tokens of a prompt after the header.
    fn holds(&self, slot: usize, header: Option<HeaderId>, (prompt, tokens): (&TokenPrompt, usize)) -> bool {
        let holds = |content: &SlotContent| {
            content.header == header && content.prompt.shared(prompt).min(content.computed) >= tokens
        };
        self.contents.get(slot).is_some_and(holds)
    }

    /// Returns a free slot of sufficient size: one that holds as much of the prompt as any (`in_place`), otherwise a
    /// new one, otherwise the one free for the longest time; where none is large enough, free ones make room for a new
    /// one, and then headers other than the prompt's.
    fn choose(
        &mut self,
        arena: &mut Arena,
        (prompt, room): (&TokenPrompt, usize),
        (header, in_place): (Option<HeaderId>, usize),
    ) -> Choice {
        let mut free: Vec<usize> = (0..self.contents.len()).filter(|&slot| !self.contents[slot].busy).collect();
        free.sort_by_key(|&slot| self.contents[slot].taken);
        let fits = |slot: &usize| arena.room(self.contents[*slot].extent) >= room.max(1);
        let mut holding = free.iter().filter(|slot| fits(slot) && self.holds(**slot, header, (prompt, in_place)));
        if in_place > prompt.header()
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
        while self.make_room(arena, header) {
            let Some(extent) = arena.allocate(room) else { continue };
            let empty = self.contents.iter().position(|content| content.extent == ExtentId::NONE);
            let slot = empty.unwrap_or(self.contents.len());
            if slot == self.contents.len() {
                self.contents.push(SlotContent::nothing(extent));
            } else {
                self.contents[slot] = SlotContent::nothing(extent);
            }
            return Choice::Slot(slot);
        }
        if self.contents.iter().any(|content| content.busy) { Choice::Full } else { Choice::Alone }
    }

    /// Returns the room of a slot in tokens, header included.
    pub(super) fn room(&self, arena: &Arena, slot: usize) -> usize {
        self.contents.get(slot).map_or(0, |content| content.prompt.header() + arena.room(content.extent))
    }

    /// Returns the room with which the sequence in a slot can have `tokens` tokens now and at most `most`: what it has, or half
    /// as much again of what is its own.
    pub(super) fn room_for(&self, arena: &Arena, slot: usize, tokens: usize, most: usize) -> usize {
        let room = self.room(arena, slot);
        let own = self.contents.get(slot).map_or(0, |content| arena.room(content.extent));
        if room >= tokens { room } else { (room + own / 2).max(tokens).min(most) }
    }

    /// Gives the sequence in a slot room for `room` tokens, header included; what is not in use makes room for it. Returns
    /// whether it has the room.
    ///
    /// # Errors
    /// Errors of libtorch.
    pub(super) fn grow(&mut self, arena: &mut Arena, slot: usize, room: usize) -> Result<bool, TchError> {
        let Some(content) = self.contents.get(slot) else { return Ok(false) };
        let (extent, header, own) = (content.extent, content.header, room - content.prompt.header());
        loop {
            if arena.grow(extent, own)? {
                return Ok(true);
            }
            if !self.make_room(arena, header) {
                return Ok(false);
            }
        }
    }

    /// Notes that the prompt in a slot was computed up to `end`, which is a cut; with the whole prompt, its last state.
    pub(super) fn computed(&mut self, slot: usize, end: usize, last: Option<Tensor>) {
        if let Some(content) = self.contents.get_mut(slot) {
            content.computed = end;
            content.last = last;
            if let Some(header) = content.header {
                self.headers.advance(header, end);
            }
        }
    }

    /// Begins to count distinct tokens for another job.
    pub(crate) fn begin_job(&mut self) {
        self.known.clear();
        self.new_segments.clear();
    }

    /// Returns whether the tokens of a prompt between the cuts `start` and `end` were not computed before for this job:
    /// tokens that are computed again, because their slot was reused, are not distinct.
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

    /// Returns the segment of `rows` tokens of the sequence in a slot, the first of them at `position`; the header's last
    /// token ends a segment.
    pub(super) fn segment(&self, slot: usize, position: usize, rows: usize) -> Segment {
        let Some(content) = self.contents.get(slot) else { return Segment::alone(ExtentId::NONE, position, rows) };
        let header = content.prompt.header();
        match content.path.as_ref() {
            [] => Segment::alone(content.extent, position, rows),
            [of_header] if position < header => Segment::alone(*of_header, position, rows),
            _ => Segment {
                path: Rc::clone(&content.path),
                own: content.extent,
                before: position - header,
                position,
                rows,
                decodes: false,
            },
        }
    }

    /// Returns the header that the sequence in a slot uses: rows with the same one are neighbours in a pass.
    pub(super) fn header(&self, slot: usize) -> Option<HeaderId> {
        self.contents.get(slot).and_then(|content| content.header)
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
}

impl SlotContent {
    fn nothing(extent: ExtentId) -> Self {
        let prompt = TokenPrompt::new(&[], &[]);
        Self { extent, header: None, path: Rc::new([]), prompt, computed: 0, last: None, busy: false, taken: 0 }
    }
}
