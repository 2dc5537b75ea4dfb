//! Headers: shared prefixes of prompts in their own extents, to which all sequences that have them attend.
//!
//! A decode step reads a header once, however many sequences share it. A header stays while memory allows: the next
//! batch of a data set has the same few-shot examples.

use super::prompt::TokenPrompt;
use crate::kv::{Arena, ExtentId};

/// Names a header of one [`Headers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HeaderId(usize);

/// The headers of one model.
#[derive(Default)]
pub(super) struct Headers(Vec<Option<Header>>);

struct Header {
    extent: ExtentId,
    /// A prompt that begins with it.
    prompt: TokenPrompt,
    /// Number of its tokens that are computed.
    computed: usize,
    /// Time at which it was last requested.
    taken: u64,
}

impl Headers {
    /// Returns the header of a prompt, if it is there.
    pub(super) fn find(&self, prompt: &TokenPrompt) -> Option<HeaderId> {
        let same = |header: &Option<Header>| header.as_ref().is_some_and(|one| one.prompt.shares_header_with(prompt));
        self.0.iter().position(same).map(HeaderId)
    }

    /// Returns the extent whose first tokens are the most of a prompt's beginning, and their number.
    pub(super) fn beginning(&self, prompt: &TokenPrompt) -> Option<(ExtentId, usize)> {
        let have = |header: &Header| {
            let shared = header.prompt.shared(prompt).min(header.prompt.header());
            (header.extent, shared.min(header.computed))
        };
        self.0.iter().flatten().map(have).max_by_key(|(_, have)| *have).filter(|(_, have)| *have > 0)
    }

    /// Adds the header of a prompt, of which nothing is computed.
    pub(super) fn add(&mut self, extent: ExtentId, prompt: &TokenPrompt) -> HeaderId {
        let header = Header { extent, prompt: prompt.clone(), computed: 0, taken: 0 };
        let number = self.0.iter().position(Option::is_none).unwrap_or(self.0.len());
        if number == self.0.len() {
            self.0.push(None);
        }
        self.0[number] = Some(header);
        HeaderId(number)
    }

    fn get(&self, id: HeaderId) -> Option<&Header> {
        self.0.get(id.0).and_then(Option::as_ref)
    }

    /// The extent of a header.
    pub(super) fn extent(&self, id: HeaderId) -> ExtentId {
        self.get(id).map_or(ExtentId::NONE, |header| header.extent)
    }

    /// Number of tokens of a header that are computed.
    pub(super) fn computed(&self, id: HeaderId) -> usize {
        self.get(id).map_or(0, |header| header.computed)
    }

    /// Notes that a header is computed up to `end`, or wholly.
    pub(super) fn advance(&mut self, id: HeaderId, end: usize) {
        if let Some(Some(header)) = self.0.get_mut(id.0) {
            header.computed = header.computed.max(end.min(header.prompt.header()));
        }
    }

    /// Notes that a header was requested at a time.
    pub(super) fn touch(&mut self, id: HeaderId, clock: u64) {
        if let Some(Some(header)) = self.0.get_mut(id.0) {
            header.taken = clock;
        }
    }

    /// Frees the header that was not requested for the longest time, among those for which `is_idle` is true; returns it.
    pub(super) fn evict(&mut self, arena: &mut Arena, is_idle: impl Fn(HeaderId) -> bool) -> Option<HeaderId> {
        let all = self.0.iter().enumerate().filter_map(|(number, header)| Some((HeaderId(number), header.as_ref()?)));
        let (id, header) = all.filter(|(id, _)| is_idle(*id)).min_by_key(|(id, header)| (header.taken, *id))?;
        arena.release(header.extent);
        self.0[id.0] = None;
        Some(id)
    }

    /// Forgets all headers; the arena is cleared or replaced.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind};

    #[test]
    fn the_idle_header_of_the_oldest_request_makes_room() {
        let mut arena = Arena::new(&[Device::Cpu], 300, (1, 1), Kind::Float).unwrap();
        let mut headers = Headers::default();
        let prompt = |first: u32| TokenPrompt::new(&(first..first + 120).collect::<Vec<_>>(), &[100]);
        let ids: Vec<HeaderId> =
            (0..3).map(|first| headers.add(arena.allocate(100).unwrap(), &prompt(first))).collect();
        assert!(ids.iter().enumerate().all(|(first, id)| headers.find(&prompt(first as u32)) == Some(*id)));
        assert_eq!(headers.find(&prompt(3)), None);
        ids.iter().zip([7, 5, 6]).for_each(|(id, clock)| headers.touch(*id, clock));
        headers.advance(ids[0], 64);
        headers.advance(ids[0], 120);
        assert_eq!((headers.computed(ids[0]), headers.computed(ids[1])), (100, 0));
        assert_eq!(headers.evict(&mut arena, |id| id != ids[1]), Some(ids[2]), "the oldest one is in use");
        assert_eq!(headers.find(&prompt(2)), None);
        assert_eq!(headers.add(arena.allocate(100).unwrap(), &prompt(4)), ids[2]);
        assert_eq!(headers.evict(&mut arena, |_| false), None);
    }
}
