//! Common frame of all families: embedding, layers, norm, projection on the vocabulary.
//!
//! A family's file defines its layers and the names of their weights; the rest is here.

use super::causal_lm::{CausalLm, LateTokens, PART_OF_MEMORY};
use super::pipeline::{Pipeline, Stages};
use crate::blocks::{Linear, Norm, Pass, RotaryEmbedding};
use crate::config::RopeConfig;
use crate::device::{free_on, total_on};
use crate::fault::device_fault;
use crate::kernels::{Kernels, Pairing, Rotation, added_rows};
use crate::kv::{Arena, Segment};
use crate::memory::free_bytes;
use crate::reproducible::in_whole_vectors;
use crate::weights::{MappedFile, Weights};
use compass_plan::engine::{EngineFault, note_progress};
use std::borrow::Cow;
use std::ops::Range;
use tch::{Device, Kind, TchError, Tensor};

/// Number of rows of a pass beyond which a CPU gets no faster, and a GPU hardly.
const CPU_ROWS: usize = 512;
const GPU_ROWS: usize = 8192;

/// Part of a GPU's memory that the rows of a pass may take, as a divisor of all of it; keys and values take the rest.
const PART_FOR_ROWS: usize = 24;

/// Memory of a GPU that libraries and the epilogue take in addition, in bytes.
const OF_LIBRARIES: usize = 2 << 30;

/// Memory of a row in a layer, in widths of the model: the row, the output of attention, and the wider states inside
/// the feed-forward half.
const ROW_WIDTHS: usize = 24;

/// Device of a model, and the initial number of positions of its rotary tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub(crate) kind: Kind,
    pub(crate) device: Device,
    pub(crate) positions: i64,
    /// Number of engines that share the GPU.
    pub(crate) sharing: usize,
    /// Bytes of the weights outside the layers, and of a layer in the mean; 0 if no file gives them.
    pub(crate) weights: (usize, usize),
    /// Cooperation of layers on several devices.
    pub(crate) stages: Stages,
}

/// Returns the rest of an engine's share of a GPU on which it has weights: engines that share it may be loaded later, and
/// need what is free now.
fn left_of_share(free: usize, share: usize, weights: usize) -> usize {
    free.min(share.saturating_sub(weights))
}

/// One transformer layer.
pub(crate) trait DecoderLayer {
    /// Maps the rows of the pass, `[rows, hidden]`, to the same shape.
    fn forward(&self, x: &Tensor, pass: &mut Pass<'_>) -> Result<Tensor, TchError>;

    /// Joins products of the same rows, where the layer has any: a copy of their weights, and fewer operations.
    fn join(&mut self) -> Result<(), TchError> {
        Ok(())
    }

    /// Stacks experts, where the layer has any, as they are loaded on a device with a grouped product.
    fn stack_experts(&mut self) -> Result<(), TchError> {
        Ok(())
    }
}

/// Way in which a token's position enters the model.
pub(crate) enum Positions {
    /// One rotation of all layers, or several among which each layer selects.
    Rotary(Vec<RotaryEmbedding>),
    /// A row of the table is added to the embedding: row `position + offset`.
    Learned { table: Tensor, offset: i64 },
}

impl Positions {
    /// Creates rotary tables for all layers.
    pub(crate) fn rotary(config: &RopeConfig, to: &Placement) -> Result<Self, EngineFault> {
        Self::rotary_of(&[config], Pairing::Halves, to)
    }

    /// Creates rotary tables, among which the layers select.
    pub(crate) fn rotary_of(configs: &[&RopeConfig], pairing: Pairing, to: &Placement) -> Result<Self, EngineFault> {
        let rope =
            |&config: &&RopeConfig| RotaryEmbedding::new(config.clone(), pairing, to.positions, (to.kind, to.device));
        let ropes = configs.iter().map(rope).collect::<Result<_, _>>();
        ropes.map(Self::Rotary).map_err(|error| device_fault(&error))
    }
}

/// A loaded model. Fields are dropped in order: the tensors before the files that they are views of.
pub(crate) struct Decoder {
    /// `[vocabulary, width]`.
    pub(crate) embed_tokens: Tensor,
    /// Factor of the embeddings (Gemma).
    pub(crate) embed_scale: Option<f64>,
    /// From the width of embeddings to that of the layers, and back (OPT 350M).
    pub(crate) project_in: Option<Linear>,
    pub(crate) project_out: Option<Linear>,
    pub(crate) positions: Positions,
    pub(crate) layers: Vec<Box<dyn DecoderLayer>>,
    pub(crate) norm: Option<Norm>,
    pub(crate) lm_head: Linear,
    /// `cap tanh(logit / cap)` (Gemma 2).
    pub(crate) final_softcap: Option<f64>,
    pub(crate) kv_heads: i64,
    pub(crate) head_dim: i64,
    pub(crate) placement: Placement,
    pub(crate) kernels: Box<dyn Kernels>,
    /// Device of each layer; empty if all are on one device. Filled once every tensor is loaded.
    pub(crate) layer_devices: Vec<Device>,
    /// Filled with them.
    pub(crate) pipeline: Pipeline,
    /// Filled once every tensor is loaded.
    pub(crate) _files: Vec<MappedFile>,
}

/// Returns the projection on the vocabulary: the embeddings, `<embeddings>.weight`, if they are tied and the files have no other head,
/// otherwise `<name>.weight`.
pub(crate) fn lm_head(
    weights: &mut Weights,
    name: &str,
    embeddings: &str,
    embed_tokens: &Tensor,
    tied: bool,
) -> Result<Linear, EngineFault> {
    let (name, embeddings) = (format!("{name}.weight"), format!("{embeddings}.weight"));
    if tied && !weights.unties(&name, &embeddings)? {
        weights.note_tied(&embeddings);
        return Ok(Linear::new(embed_tokens.shallow_clone(), None));
    }
    Ok(Linear::new(weights.take(&name, &embed_tokens.size())?, None))
}

impl Decoder {
    /// Joins products of the same rows in all layers, one layer after the other.
    pub(crate) fn join(&mut self) -> Result<(), TchError> {
        self.layers.iter_mut().try_for_each(|layer| layer.join())
    }

    /// Stacks the experts of all layers.
    pub(crate) fn stack_experts(&mut self) -> Result<(), TchError> {
        self.layers.iter_mut().try_for_each(|layer| layer.stack_experts())
    }

    /// Returns the number of tokens whose keys and values fit into the given bytes on each device.
    fn tokens_in(&self, bytes: impl Fn(Device, usize) -> usize) -> usize {
        let layers = self.layers.len().max(1);
        let home = vec![self.placement.device; layers];
        let devices = if self.layer_devices.len() == layers { &self.layer_devices } else { &home };
        let on = |device: Device| {
            let of_token = self.token_bytes() / layers * devices.iter().filter(|&&one| one == device).count();
            bytes(device, of_token) / of_token.max(1)
        };
        devices.iter().map(|&device| on(device)).min().unwrap_or(0)
    }

    /// Returns this engine's share of a GPU's memory.
    fn share_of(&self, bytes: usize) -> usize {
        bytes / self.placement.sharing.max(1)
    }

    /// Bytes of the weights on a device.
    fn weights_on(&self, device: Device) -> usize {
        let (outside, layer) = self.placement.weights;
        let layers = match self.layer_devices.as_slice() {
            [] if device == self.placement.device => self.layers.len(),
            devices => devices.iter().filter(|&&one| one == device).count(),
        };
        layers * layer + if device == self.placement.device { outside } else { 0 }
    }

    /// Returns the embeddings of the tokens, and of others that pad them to `rows`.
    fn embed(
        &self,
        tokens: &[u32],
        late: Option<&LateTokens>,
        segments: &[Segment],
        rows: usize,
    ) -> Result<Tensor, TchError> {
        let kernels = self.kernels.as_ref();
        let padding = std::iter::repeat(0i64);
        let ids: Vec<i64> = tokens.iter().map(|&token| i64::from(token)).chain(padding.clone()).take(rows).collect();
        let ids = kernels.to_device(&ids, self.placement.device)?;
        let ids = match late {
            Some(late) => {
                let places = kernels.to_device(&late.rows, self.placement.device)?;
                ids.f_index_copy(0, &places, &late.ids.f_clamp_min(0)?)?
            }
            None => ids,
        };
        let mut x = kernels.embed(&self.embed_tokens, &ids)?;
        if let Some(scale) = self.embed_scale {
            // The scale is rounded to the model's kind first, as transformers does.
            x = x.f_mul(&Tensor::f_full([1i64], scale, (self.placement.kind, self.placement.device))?)?;
        }
        if let Some(project_in) = &self.project_in {
            x = project_in.forward(kernels, &x)?;
        }
        match &self.positions {
            Positions::Rotary(_) => Ok(x),
            Positions::Learned { table, offset } => {
                let places = segments.iter().flat_map(|segment| segment.position..segment.end());
                let places: Vec<i64> = places.map(|place| place as i64 + offset).chain(padding).take(rows).collect();
                let places = kernels.to_device(&places, self.placement.device)?;
                kernels.add(&x, &kernels.embed(table, &places)?)
            }
        }
    }
}

/// Input of the layers: the requested segments, or their whole sequences in place of some of them.
struct Fed<'a> {
    tokens: Cow<'a, [u32]>,
    segments: Cow<'a, [Segment]>,
}

impl Fed<'_> {
    /// Returns the micro-batches that have these segments.
    fn cut(&self, batches: &[Range<usize>], device: Device) -> Vec<MicroBatch<'_>> {
        let mut begin = 0;
        let cut = |batch: &Range<usize>| {
            let segments = &self.segments[batch.clone()];
            let rows = segments.iter().map(|segment| segment.rows).sum::<usize>();
            begin += rows;
            let tokens = &self.tokens[begin - rows..begin];
            MicroBatch { tokens, segments, added: added_rows(rows as i64, device) }
        };
        batches.iter().map(cut).collect()
    }

    /// Returns the rows of the requested segments: the last ones of each input.
    fn wanted(&self, x: &Tensor, asked: &[Segment]) -> Result<Tensor, TchError> {
        if matches!(self.tokens, Cow::Borrowed(_)) {
            return x.f_narrow(0, 0, self.tokens.len() as i64);
        }
        let mut end = 0;
        let rows = self.segments.iter().zip(asked).map(|(fed, asked)| {
            end += fed.rows as i64;
            x.f_narrow(0, end - asked.rows as i64, asked.rows as i64)
        });
        Tensor::f_cat(&rows.collect::<Result<Vec<_>, _>>()?, 0)
    }
}

impl Decoder {
    /// Notes the tokens in their extents. If the keys there cannot be used for a sequence of its new length,
    /// transformers recomputes the whole sequence; so does this.
    fn lay_out<'a>(&self, tokens: &'a [u32], segments: &'a [Segment], arena: &mut Arena) -> Fed<'a> {
        let is_long = |length: usize| match &self.positions {
            Positions::Learned { .. } => false,
            Positions::Rotary(ropes) => ropes.iter().any(|rope| rope.is_long(length)),
        };
        let mut fed = Fed { tokens: Cow::Borrowed(tokens), segments: Cow::Borrowed(segments) };
        let mut start = 0;
        for (number, segment) in segments.iter().enumerate() {
            let own = &tokens[start..start + segment.rows];
            let long = is_long(segment.end());
            // Only a sequence that has one extent can be computed again in place.
            let restarts = segment.before > 0 && segment.path.is_empty() && long != arena.is_long(segment.own);
            if restarts && let Cow::Borrowed(_) = fed.tokens {
                fed.tokens = Cow::Owned(tokens[..start].to_vec());
                fed.segments = Cow::Owned(segments[..number].to_vec());
            }
            arena.note(segment.own, segment.before, own, long);
            if let (Cow::Owned(all), Cow::Owned(laid)) = (&mut fed.tokens, &mut fed.segments) {
                if restarts {
                    all.extend_from_slice(arena.tokens(segment.own));
                    laid.push(Segment::alone(segment.own, 0, segment.end()));
                } else {
                    all.extend_from_slice(own);
                    laid.push(segment.clone());
                }
            }
            start += segment.rows;
        }
        fed
    }
}

/// A part of a pass that goes from layer to layer by itself.
struct MicroBatch<'a> {
    tokens: &'a [u32],
    segments: &'a [Segment],
    /// Rows that pad it.
    added: i64,
}

impl MicroBatch<'_> {
    /// Number of rows, padding included.
    fn rows(&self) -> usize {
        self.tokens.len() + self.added as usize
    }
}

/// A micro-batch on its way through the layers.
struct UnderWay<'a> {
    x: Tensor,
    here: Device,
    pass: Pass<'a>,
}

impl Decoder {
    /// Returns the rotations of all rows; none where positions are learnt.
    fn rotations(&mut self, batch: &MicroBatch<'_>) -> Result<Vec<Rotation>, TchError> {
        let kernels = self.kernels.as_ref();
        match &mut self.positions {
            Positions::Learned { .. } => Ok(Vec::new()),
            Positions::Rotary(ropes) => {
                ropes.iter_mut().map(|rope| rope.rotation(kernels, batch.segments)?.padded(batch.added)).collect()
            }
        }
    }

    /// Returns a micro-batch before the first layer.
    fn enter<'a>(
        &'a self,
        (batch, late): (&MicroBatch<'_>, Option<&LateTokens>),
        rotations: Vec<Rotation>,
        arena: &'a Arena,
    ) -> Result<UnderWay<'a>, TchError> {
        let (rows, here) = (batch.rows(), self.placement.device);
        let x = self.embed(batch.tokens, late, batch.segments, rows)?;
        Ok(UnderWay {
            x,
            here,
            pass: Pass::new(self.kernels.as_ref(), rotations, (batch.segments, rows), arena, here)?,
        })
    }

    /// Computes some layers for a micro-batch, which has been through those before them.
    fn compute(&self, layers: Range<usize>, batch: &mut UnderWay<'_>) -> Result<(), TchError> {
        for number in layers {
            let device = self.layer_devices.get(number).copied().unwrap_or(batch.here);
            if device != batch.here {
                (batch.x, batch.here) = (batch.x.f_to_device(device)?, device);
                batch.pass.go_to(device)?;
            }
            if let Some(layer) = self.layers.get(number) {
                batch.x = layer.forward(&batch.x, &mut batch.pass)?;
            }
            note_progress();
            batch.pass.next_layer();
        }
        Ok(())
    }

    /// Returns the hidden states of a micro-batch that has been through all layers.
    fn leave(&self, batch: UnderWay<'_>) -> Result<Tensor, TchError> {
        let UnderWay { mut x, here, .. } = batch;
        let kernels = self.kernels.as_ref();
        if here != self.placement.device {
            x = x.f_to_device(self.placement.device)?;
        }
        if let Some(norm) = &self.norm {
            x = norm.forward(kernels, &x)?;
        }
        match &self.project_out {
            Some(project_out) => project_out.forward(kernels, &x),
            None => Ok(x),
        }
    }

    /// Computes the hidden states of a pass, of which late tokens are only in a model that takes them.
    fn forward(
        &mut self,
        (tokens, late): (&[u32], Option<&LateTokens>),
        segments: &[Segment],
        arena: &mut Arena,
    ) -> Result<Tensor, TchError> {
        let fed = self.lay_out(tokens, segments, arena);
        let batches = fed.cut(&self.pipeline.micro_batches(&fed.segments), self.placement.device);
        let rotations = batches.iter().map(|batch| self.rotations(batch)).collect::<Result<Vec<_>, _>>()?;
        let enter = |(batch, rotations)| self.enter((batch, late), rotations, arena);
        let mut under_way = batches.iter().zip(rotations).map(enter).collect::<Result<Vec<_>, _>>()?;
        for (layers, batch) in self.pipeline.steps(batches.len()) {
            if let Some(batch) = under_way.get_mut(batch) {
                self.compute(layers.clone(), batch)?;
            }
        }
        let mut states = Vec::with_capacity(batches.len());
        for (batch, under_way) in batches.iter().zip(under_way) {
            states.push(self.leave(under_way)?.f_narrow(0, 0, batch.tokens.len() as i64)?);
        }
        let x = match states.as_slice() {
            [whole] => whole.shallow_clone(),
            _ => Tensor::f_cat(&states, 0)?,
        };
        fed.wanted(&x, segments)
    }
}

impl CausalLm for Decoder {
    fn hidden(&mut self, tokens: &[u32], segments: &[Segment], arena: &mut Arena) -> Result<Tensor, TchError> {
        self.forward((tokens, None), segments, arena)
    }

    /// Returns `true` on one device: in a pass that goes through several devices in parts, each part needs its tokens from the host.
    fn takes_late_tokens(&self) -> bool {
        self.layer_devices.is_empty()
    }

    fn hidden_after(
        &mut self,
        tokens: &[u32],
        late: &LateTokens,
        segments: &[Segment],
        arena: &mut Arena,
    ) -> Result<Tensor, TchError> {
        if !self.takes_late_tokens() {
            let tokens = late.filled_in(tokens, self.kernels())?;
            return self.hidden(&tokens, segments, arena);
        }
        self.forward((tokens, Some(late)), segments, arena)
    }

    fn logits(&self, hidden: &Tensor) -> Result<Tensor, TchError> {
        let logits = self.lm_head.forward(self.kernels.as_ref(), hidden)?;
        let Some(cap) = self.final_softcap else {
            return Ok(logits);
        };
        let logits = logits.f_div_scalar(cap)?;
        in_whole_vectors(&logits, Tensor::f_tanh)?.f_mul_scalar(cap)
    }

    fn arena(&self, tokens: usize) -> Result<Arena, TchError> {
        let home = vec![self.placement.device; self.layers.len()];
        let devices = if self.layer_devices.len() == home.len() { &self.layer_devices } else { &home };
        Arena::new(devices, tokens, (self.kv_heads, self.head_dim), self.placement.kind)
    }

    fn token_bytes(&self) -> usize {
        let width = usize::try_from(self.kv_heads * self.head_dim).unwrap_or(1);
        2 * self.layers.len() * width * self.placement.kind.elt_size_in_bytes()
    }

    fn kernels(&self) -> &dyn Kernels {
        self.kernels.as_ref()
    }

    fn rows_at_once(&self) -> usize {
        let width = self.embed_tokens.size().last().copied().unwrap_or(1) as usize;
        let row = width * ROW_WIDTHS * self.placement.kind.elt_size_in_bytes();
        let (liked, bytes) = match self.placement.device {
            Device::Cpu => (CPU_ROWS, free_bytes() / 4),
            // The free memory of a GPU depends on the allocator, which keeps what was freed.
            device => (GPU_ROWS, self.share_of(total_on(device)) / PART_FOR_ROWS),
        };
        (bytes / row.max(1)).clamp(1, liked)
    }

    fn arena_tokens(&self, freed: usize) -> usize {
        self.tokens_in(|device, of_token| match device {
            Device::Cpu => free_bytes() / PART_OF_MEMORY,
            device => {
                let share = self.share_of(total_on(device));
                let free = free_on(device) + freed * of_token;
                let left =
                    if self.placement.sharing > 1 { left_of_share(free, share, self.weights_on(device)) } else { free };
                left.saturating_sub(share / PART_FOR_ROWS + OF_LIBRARIES)
            }
        })
    }

    fn arena_tokens_at_most(&self, freed: usize) -> usize {
        self.tokens_in(|device, of_token| match device {
            Device::Cpu => usize::MAX,
            // Passes of fewer rows find room in the other half.
            device => (free_on(device) + freed * of_token) / 2,
        })
    }

    fn shares_prefixes(&self, length: usize) -> bool {
        match &self.positions {
            Positions::Learned { .. } => true,
            Positions::Rotary(ropes) => !ropes.iter().any(|rope| rope.depends_on_length(length)),
        }
    }

    fn vocabulary(&self) -> usize {
        self.embed_tokens.size().first().copied().unwrap_or(0) as usize
    }

    fn most_positions(&self) -> Option<usize> {
        match &self.positions {
            Positions::Rotary(_) => None,
            Positions::Learned { table, offset } => {
                table.size().first().map(|&rows| usize::try_from(rows - offset).unwrap_or(0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_that_share_a_gpu_leave_each_other_room_whoever_comes_first() {
        const GIB: usize = 1 << 30;
        // Two engines with 30 of 80 GiB of weights each.
        let (share, weights) = (80 * GIB / 2, 30 * GIB);
        let first = left_of_share(50 * GIB, share, weights);
        assert_eq!(first, 10 * GIB);
        // The second one loads after the first has its arena.
        let second = left_of_share(80 * GIB - 2 * weights - first, share, weights);
        assert_eq!(second, 10 * GIB);
        assert_eq!(left_of_share(4 * GIB, share, weights), 4 * GIB, "others have taken more");
        assert_eq!(left_of_share(4 * GIB, share, 41 * GIB), 0);
    }
}
