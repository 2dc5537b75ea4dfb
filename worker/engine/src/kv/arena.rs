//! The arena: memory for the keys and values of many sequences, reserved once.
//!
//! An extent is a run of tokens in every layer, for the tokens of one prefix segment, or of one sequence's end. It is
//! freed when its last holder releases it. Two extents never overlap, so that siblings of a trie lie beside each other,
//! and one pass can compute them all. Content moves only when an extent grows: between passes, in the order of the device's
//! work, to places for which the next pass asks again.

use super::free_list::FreeList;
use super::sliding::{Run, slides};
use tch::{Device, Kind, TchError, Tensor};

/// Names an extent of one arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ExtentId(usize);

impl ExtentId {
    /// Names no extent: it has no room and no tokens.
    pub(crate) const NONE: Self = Self(usize::MAX);
}

/// The keys and values of one model.
pub(crate) struct Arena {
    layers: Vec<LayerKv>,
    free: FreeList,
    extents: Vec<Option<Extent>>,
    capacity: usize,
}

/// Keys and values of one layer, `[tokens, kv_heads, head_dim]` each.
pub(crate) struct LayerKv {
    pub(crate) keys: Tensor,
    pub(crate) values: Tensor,
}

struct Extent {
    /// Its first token in the arena.
    start: usize,
    capacity: usize,
    /// The tokens in it, for models that must compute a whole sequence again at some length.
    tokens: Vec<u32>,
    /// Set if keys were rotated for a long sequence, for models where this differs.
    long: bool,
    holders: usize,
}

impl LayerKv {
    /// Returns keys and values of `tokens` tokens from `start` on: views.
    pub(crate) fn run(&self, start: i64, tokens: i64) -> Result<(Tensor, Tensor), TchError> {
        Ok((self.keys.f_narrow(0, start, tokens)?, self.values.f_narrow(0, start, tokens)?))
    }
}

impl Arena {
    /// Reserves an arena of `capacity` tokens with each layer on its own device.
    pub(crate) fn new(
        devices: &[Device],
        capacity: usize,
        (kv_heads, head_dim): (i64, i64),
        kind: Kind,
    ) -> Result<Self, TchError> {
        // Nothing is read before it was written. One token more than asked for: rows that pad a pass are written there.
        let room = |device| Tensor::f_empty([capacity as i64 + 1, kv_heads, head_dim], (kind, device));
        let layer = |&device: &Device| Ok(LayerKv { keys: room(device)?, values: room(device)? });
        let layers = devices.iter().map(layer).collect::<Result<_, TchError>>()?;
        Ok(Self { layers, free: FreeList::new(capacity), extents: Vec::new(), capacity })
    }

    /// Returns an arena without memory, which is replaced when one is needed.
    pub(crate) fn none() -> Self {
        Self { layers: Vec::new(), free: FreeList::default(), extents: Vec::new(), capacity: 0 }
    }

    /// Frees the memory, then takes the arena that `make` reserves, whose argument is the number of tokens of that memory. All
    /// extents are gone: an [`ExtentId`] of before may name another one.
    pub(crate) fn replace(&mut self, make: impl FnOnce(usize) -> Result<Self, TchError>) -> Result<(), TchError> {
        let freed = self.capacity;
        *self = Self::none();
        *self = make(freed)?;
        Ok(())
    }

    /// Frees all extents, with all their holders.
    pub(crate) fn clear(&mut self) {
        self.extents.clear();
        self.free = FreeList::new(self.capacity);
    }

    /// Maximum number of tokens.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns an extent for `tokens` tokens, held once; `None` if no free run is long enough.
    pub(crate) fn allocate(&mut self, tokens: usize) -> Option<ExtentId> {
        let capacity = tokens.max(1);
        let start = self.free.take(capacity)?;
        let extent = Extent { start, capacity, tokens: Vec::new(), long: false, holders: 1 };
        let number = self.extents.iter().position(Option::is_none).unwrap_or(self.extents.len());
        if number == self.extents.len() {
            self.extents.push(None);
        }
        self.extents[number] = Some(extent);
        Some(ExtentId(number))
    }

    /// Adds a holder.
    pub(crate) fn retain(&mut self, id: ExtentId) {
        if let Some(Some(extent)) = self.extents.get_mut(id.0) {
            extent.holders += 1;
        }
    }

    /// Removes a holder; with the last one the extent is freed.
    pub(crate) fn release(&mut self, id: ExtentId) {
        let Some(slot) = self.extents.get_mut(id.0) else { return };
        let Some(extent) = slot else { return };
        extent.holders -= 1;
        if extent.holders == 0 {
            self.free.give_back(extent.start, extent.capacity);
            *slot = None;
        }
    }

    /// Returns whether an extent has more than one holder.
    pub(crate) fn is_shared(&self, id: ExtentId) -> bool {
        self.extent(id).is_some_and(|extent| extent.holders > 1)
    }

    fn extent(&self, id: ExtentId) -> Option<&Extent> {
        self.extents.get(id.0).and_then(Option::as_ref)
    }

    /// Maximum number of tokens of an extent.
    pub(crate) fn room(&self, id: ExtentId) -> usize {
        self.extent(id).map_or(0, |extent| extent.capacity)
    }

    /// The first token of an extent in the tensors.
    pub(crate) fn start(&self, id: ExtentId) -> usize {
        self.extent(id).map_or(self.capacity, |extent| extent.start)
    }

    /// Returns the tokens in an extent.
    pub(crate) fn tokens(&self, id: ExtentId) -> &[u32] {
        self.extent(id).map_or(&[], |extent| &extent.tokens)
    }

    /// Returns whether the keys of an extent belong to a long sequence, see [`crate::blocks::RotaryEmbedding::is_long`].
    pub(crate) fn is_long(&self, id: ExtentId) -> bool {
        self.extent(id).is_some_and(|extent| extent.long)
    }

    /// Notes tokens whose keys and values are about to be written after the first `before` of an extent; what follows
    /// them becomes invalid.
    pub(crate) fn note(&mut self, id: ExtentId, before: usize, tokens: &[u32], long: bool) {
        if let Some(Some(extent)) = self.extents.get_mut(id.0) {
            extent.tokens.truncate(before);
            extent.tokens.extend_from_slice(tokens);
            extent.long = long;
        }
    }

    /// Gives an extent room for `capacity` tokens, if as many are free with its own: it becomes longer in place, or is moved to
    /// a free run, or extents around it move apart. Its tokens, keys and values stay. Returns whether it has the room.
    ///
    /// # Errors
    /// Errors of libtorch while content is moved; the arena must be cleared then.
    pub(crate) fn grow(&mut self, id: ExtentId, capacity: usize) -> Result<bool, TchError> {
        let Some(extent) = self.extent(id) else { return Ok(false) };
        let (start, had, used) = (extent.start, extent.capacity, extent.tokens.len());
        if capacity <= had {
            return Ok(true);
        }
        let place = if self.free.take_at(start + had, capacity - had) {
            start
        } else if let Some(place) = self.free.take(capacity) {
            self.move_run(start, place, used)?;
            self.free.give_back(start, had);
            place
        } else if self.free.total() + had >= capacity {
            self.slide_apart(id, capacity)?;
            let place = self.start(id);
            self.free.take_at(place + had, capacity - had);
            place
        } else {
            return Ok(false);
        };
        if let Some(Some(extent)) = self.extents.get_mut(id.0) {
            (extent.start, extent.capacity) = (place, capacity);
        }
        Ok(true)
    }

    /// Has extents move apart, so that one of them can have room for `capacity` tokens in its place.
    fn slide_apart(&mut self, id: ExtentId, capacity: usize) -> Result<(), TchError> {
        let held = |number: usize| self.extents.get(number).and_then(Option::as_ref);
        let mut order: Vec<usize> = (0..self.extents.len()).filter(|&number| held(number).is_some()).collect();
        order.sort_by_key(|&number| held(number).map(|extent| extent.start));
        let run = |extent: &Extent| Run { start: extent.start, capacity: extent.capacity };
        let runs: Vec<Run> = order.iter().filter_map(|&number| held(number)).map(run).collect();
        let Some(grows) = order.iter().position(|&number| number == id.0) else { return Ok(()) };
        for slide in slides(&runs, grows, capacity, self.capacity).unwrap_or_default() {
            let Some(Some(extent)) = self.extents.get_mut(order[slide.run]) else { continue };
            let (from, used) = (extent.start, extent.tokens.len());
            extent.start = slide.to;
            self.move_run(from, slide.to, used)?;
        }
        self.free = FreeList::new(self.capacity);
        for extent in self.extents.iter().flatten() {
            self.free.take_at(extent.start, extent.capacity);
        }
        Ok(())
    }

    /// Cuts an extent to room for `capacity` tokens, if it has more.
    pub(crate) fn shorten(&mut self, id: ExtentId, capacity: usize) {
        let Some(Some(extent)) = self.extents.get_mut(id.0) else { return };
        let surplus = extent.capacity.saturating_sub(capacity);
        if surplus > 0 {
            extent.capacity = capacity;
            extent.tokens.truncate(capacity);
            self.free.give_back(extent.start + capacity, surplus);
        }
    }

    /// Copies keys and values of `tokens` tokens from `from` on to those from `to` on, which they may overlap.
    fn move_run(&self, from: usize, to: usize, tokens: usize) -> Result<(), TchError> {
        let (source, target, count) = (from as i64, to as i64, tokens as i64);
        let overlaps = from.abs_diff(to) < tokens;
        for LayerKv { keys, values } in &self.layers {
            for tensor in [keys, values] {
                let run = tensor.f_narrow(0, source, count)?;
                let run = if overlaps { run.f_detach_copy()? } else { run };
                tensor.f_narrow(0, target, count)?.f_copy_(&run)?;
            }
        }
        Ok(())
    }

    /// Copies the first `tokens` tokens of an extent to the beginning of another.
    pub(crate) fn copy(&mut self, from: ExtentId, to: ExtentId, tokens: usize) -> Result<(), TchError> {
        self.move_run(self.start(from), self.start(to), tokens)?;
        let (copied, long) = (self.tokens(from).iter().take(tokens).copied().collect::<Vec<_>>(), self.is_long(from));
        self.note(to, 0, &copied, long);
        Ok(())
    }

    /// Returns one layer.
    pub(crate) fn layer(&self, number: usize) -> &LayerKv {
        &self.layers[number]
    }

    /// The row for keys and values that are never read.
    pub(crate) fn idle_row(&self) -> usize {
        self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arena(tokens: usize) -> Arena {
        Arena::new(&[Device::Cpu; 2], tokens, (1, 4), Kind::Float).unwrap()
    }

    #[test]
    fn extents_live_as_long_as_a_holder() {
        let mut arena = arena(10);
        let (a, b) = (arena.allocate(6).unwrap(), arena.allocate(4).unwrap());
        assert_eq!((arena.start(a), arena.start(b), arena.room(b), arena.allocate(1)), (0, 6, 4, None));
        arena.retain(a);
        arena.release(a);
        assert_eq!(arena.allocate(1), None);
        arena.release(a);
        let c = arena.allocate(5).unwrap();
        assert_eq!((arena.start(c), arena.tokens(c)), (0, &[][..]));
    }

    #[test]
    fn copies_take_tokens_keys_and_values() {
        let mut arena = arena(8);
        let (a, b) = (arena.allocate(3).unwrap(), arena.allocate(4).unwrap());
        arena.note(a, 0, &[5, 6, 7], true);
        for (number, layer) in arena.layers.iter().enumerate() {
            let fill = |tensor: &Tensor, with: f64| tensor.narrow(0, 0, 3).fill_(with + number as f64);
            (_, _) = (fill(&layer.keys, 1.0), fill(&layer.values, 10.0));
        }
        arena.copy(a, b, 2).unwrap();
        assert_eq!((arena.tokens(b), arena.is_long(b)), (&[5, 6][..], true));
        let (keys, values) = arena.layer(1).run(arena.start(b) as i64, 2).unwrap();
        assert_eq!(
            (keys.mean(Kind::Double).double_value(&[]), values.mean(Kind::Double).double_value(&[])),
            (2.0, 11.0)
        );
        arena.note(b, 1, &[9], false);
        assert_eq!((arena.tokens(b), arena.is_long(b)), (&[5, 9][..], false));
    }

    /// Gives an extent `tokens` tokens, and keys and values by them.
    fn fill(arena: &mut Arena, id: ExtentId, tokens: &[u32]) {
        arena.note(id, 0, tokens, false);
        for layer in &arena.layers {
            for (at, &token) in tokens.iter().enumerate() {
                let row = |tensor: &Tensor| tensor.narrow(0, (arena.start(id) + at) as i64, 1);
                (_, _) = (row(&layer.keys).fill_(f64::from(token)), row(&layer.values).fill_(-f64::from(token)));
            }
        }
    }

    /// Returns whether keys and values of an extent match its tokens.
    fn is_whole(arena: &Arena, id: ExtentId) -> bool {
        let tokens: Vec<f32> = arena.tokens(id).iter().map(|&token| token as f32).collect();
        let first = |tensor: Tensor| Vec::<f32>::try_from(tensor.select(2, 3).reshape([-1])).unwrap();
        arena.layers.iter().all(|layer| {
            let (keys, values) = layer.run(arena.start(id) as i64, tokens.len() as i64).unwrap();
            first(keys) == tokens && first(-values) == tokens
        })
    }

    #[test]
    fn extents_grow_in_place_or_elsewhere_and_others_move_apart() {
        let mut arena = arena(30);
        let ids: Vec<ExtentId> = [6, 4, 8, 2].into_iter().map(|tokens| arena.allocate(tokens).unwrap()).collect();
        let [a, b, c, d] = ids[..] else { panic!("{ids:?}") };
        fill(&mut arena, a, &[1, 2, 3, 4, 5, 6]);
        fill(&mut arena, b, &[11, 12, 13]);
        fill(&mut arena, c, &[21, 22, 23, 24, 25, 26, 27]);
        fill(&mut arena, d, &[31, 32]);
        let grown = |arena: &mut Arena, id, capacity| {
            let grown = arena.grow(id, capacity).unwrap();
            assert!(ids.iter().all(|&id| is_whole(arena, id)), "{id:?} to {capacity}");
            (grown, arena.start(id), arena.room(id))
        };
        assert_eq!(grown(&mut arena, d, 4), (true, 18, 4), "in place");
        assert_eq!(grown(&mut arena, b, 8), (true, 22, 8), "where there is room");
        assert_eq!(grown(&mut arena, a, 10), (true, 0, 10), "into what it left");
        assert_eq!(grown(&mut arena, c, 9), (false, 10, 8), "all are taken");
        arena.release(b);
        let e = arena.allocate(2).unwrap();
        fill(&mut arena, e, &[41, 42]);
        arena.shorten(a, 6);
        assert_eq!((arena.room(a), arena.tokens(a).len()), (6, 6));
        assert_eq!(grown(&mut arena, c, 18), (true, 6, 18), "itself and those behind it move");
        assert_eq!((arena.start(d), arena.start(e), arena.allocate(1)), (24, 28, None));
        assert!(is_whole(&arena, e) && arena.tokens(c).len() == 7);
    }
}
