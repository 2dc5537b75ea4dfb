//! Forward pass over segments of several sequences at once.
//!
//! Norms, matrix products and attention run over all rows together. Keys and values of all rows are written before any
//! row attends, so that a segment may follow another of the same pass.

use crate::kernels::{Kernels, Rotation};
use crate::kv::{Arena, Chain, LayerKv, Level, Masks, Segment, chains, levels};
use tch::{Device, TchError, Tensor};

/// State of a forward pass that all layers share.
pub(crate) struct Pass<'a> {
    kernels: &'a dyn Kernels,
    arena: &'a Arena,
    /// Rotations of all rows in order; none where positions are learnt, several where layers differ.
    rotations: Vec<Rotation>,
    /// The rotation of the current layer.
    rotation: usize,
    /// Places to which each row's keys and values are written.
    places: Tensor,
    levels: Vec<Level>,
    chains: Vec<Chain>,
    masks: Masks,
    layer: usize,
}

impl<'a> Pass<'a> {
    /// Creates a pass over `rows` rows that starts at the first layer, on `device`: the rows of the segments, whose tokens
    /// the arena knows, and others that pad them.
    pub(crate) fn new(
        kernels: &'a dyn Kernels,
        rotations: Vec<Rotation>,
        (segments, rows): (&[Segment], usize),
        arena: &'a Arena,
        device: Device,
    ) -> Result<Self, TchError> {
        let places = segments.iter().flat_map(|segment| {
            let start = arena.start(segment.own) + segment.before;
            start..start + segment.rows
        });
        let padding = std::iter::repeat(arena.idle_row());
        let places: Vec<i64> = places.chain(padding).take(rows).map(|place| place as i64).collect();
        Ok(Self {
            kernels,
            arena,
            rotations,
            rotation: 0,
            places: kernels.to_device(&places, device)?,
            levels: levels(segments, arena),
            chains: chains(segments, arena),
            masks: Masks::default(),
            layer: 0,
        })
    }

    /// Moves the state to the device of the next layers.
    pub(crate) fn go_to(&mut self, device: Device) -> Result<(), TchError> {
        let moved = self.rotations.iter().map(|rotation| rotation.to_device(device));
        self.rotations = moved.collect::<Result<_, _>>()?;
        self.places = self.places.f_to_device(device)?;
        self.levels.iter().map(|level| &level.masks).chain([&self.masks]).for_each(Masks::clear);
        self.levels.iter().for_each(|level| level.calls.clear());
        Ok(())
    }

    /// Advances to the next layer.
    pub(crate) fn next_layer(&mut self) {
        self.layer += 1;
    }

    pub(crate) fn kernels(&self) -> &'a dyn Kernels {
        self.kernels
    }

    /// Selects the rotation of the current layer by its place in the model's list.
    pub(crate) fn select_rotation(&mut self, number: usize) {
        self.rotation = number;
    }

    pub(super) fn rotation(&self) -> Option<&Rotation> {
        self.rotations.get(self.rotation)
    }

    /// Keys and values of the current layer, and the places to which the rows' own are written.
    pub(super) fn kv(&self) -> (&'a LayerKv, &Tensor) {
        (self.arena.layer(self.layer), &self.places)
    }

    pub(super) fn levels(&self) -> &[Level] {
        &self.levels
    }

    pub(super) fn chains(&self) -> (&[Chain], &Masks) {
        (&self.chains, &self.masks)
    }
}
