//! Forward pass over segments of several sequences at once.
//!
//! Norms and matrix products run over all rows together. Attention runs segment by segment over the tokens before the
//! segment in its own cache, so that the bits of a segment depend only on earlier segments of its own sequence.

use super::attend::{BAND, causal_mask};
use super::{KvCache, Rotation};
use crate::kernels::Kernels;
use tch::{Device, Kind, TchError, Tensor};

/// Consecutive tokens of one sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The cache with the keys and values of the tokens before the segment, to which its own are added.
    pub(crate) cache: usize,
    /// Position of the first token in the sequence.
    pub(crate) position: usize,
    /// Number of tokens.
    pub(crate) rows: usize,
}

impl Segment {
    /// Length of the sequence up to the segment's end.
    pub(crate) fn end(&self) -> usize {
        self.position + self.rows
    }
}

/// State of a forward pass that all layers share.
pub(crate) struct Pass<'a> {
    kernels: &'a dyn Kernels,
    /// Rotation of all rows in order; absent where positions are learnt.
    rotation: Option<Rotation>,
    segments: &'a [Segment],
    caches: &'a mut [KvCache],
    /// Masks of the segments that see more than themselves, made on first use.
    masks: Vec<Option<Tensor>>,
    layer: usize,
}

/// A segment with its location among the rows of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentRows {
    /// Index of the segment in the pass.
    pub(super) number: usize,
    pub(super) cache: usize,
    /// First row of the segment.
    pub(super) start: i64,
    pub(super) rows: i64,
    pub(super) position: i64,
}

impl<'a> Pass<'a> {
    /// Creates a pass that starts at the first layer.
    pub(crate) fn new(
        kernels: &'a dyn Kernels,
        rotation: Option<Rotation>,
        segments: &'a [Segment],
        caches: &'a mut [KvCache],
    ) -> Self {
        let masks = segments.iter().map(|_| None).collect();
        Self { kernels, rotation, segments, caches, masks, layer: 0 }
    }

    /// Moves the state to the device of the next layers.
    pub(crate) fn go_to(&mut self, device: Device) -> Result<(), TchError> {
        self.rotation = self.rotation.as_ref().map(|rotation| rotation.to_device(device)).transpose()?;
        self.masks.iter_mut().for_each(|mask| *mask = None);
        Ok(())
    }

    /// Advances to the next layer.
    pub(crate) fn next_layer(&mut self) {
        self.layer += 1;
    }

    pub(crate) fn kernels(&self) -> &'a dyn Kernels {
        self.kernels
    }

    pub(super) fn rotation(&self) -> Option<&Rotation> {
        self.rotation.as_ref()
    }

    /// Returns the segments with their first rows.
    pub(super) fn segment_rows(&self) -> impl Iterator<Item = SegmentRows> + use<'a> {
        let mut start = 0;
        self.segments.iter().enumerate().map(move |(number, segment)| {
            let rows = segment.rows as i64;
            start += rows;
            SegmentRows { number, cache: segment.cache, start: start - rows, rows, position: segment.position as i64 }
        })
    }

    /// Writes a segment's keys and values, `[1, kv_heads, rows, head_dim]`, to its cache. Returns the keys and values
    /// that the segment attends to.
    pub(super) fn write(
        &mut self,
        at: &SegmentRows,
        keys: &Tensor,
        values: &Tensor,
    ) -> Result<(Tensor, Tensor), TchError> {
        let held = self.caches[at.cache].layer(self.layer).write(at.position, keys, values)?;
        // The computed tensors equal their copy and save a read.
        if at.position == 0 { Ok((keys.shallow_clone(), values.shallow_clone())) } else { Ok(held) }
    }

    /// Returns the mask of a segment of few rows that sees more than itself, `[rows, length]`: zeros, and minus
    /// infinity for keys that a row cannot see.
    pub(super) fn mask(&mut self, at: &SegmentRows, options: (Kind, Device)) -> Result<Option<Tensor>, TchError> {
        if at.position == 0 || at.rows == 1 || at.rows > BAND {
            return Ok(None);
        }
        let mask = &mut self.masks[at.number];
        if mask.is_none() {
            *mask = Some(causal_mask(at.rows, at.position + at.rows, options)?);
        }
        Ok(mask.as_ref().map(Tensor::shallow_clone))
    }
}
