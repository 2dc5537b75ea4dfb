//! The frame of every family here: embed, go through the layers, normalise, project on the vocabulary.
//!
//! A family's file says what its layers are and where their weights stand; what is common to all is said once, here.

use super::CausalLm;
use crate::blocks::{KvCache, LayerCache, Linear, Norm, RotaryEmbedding, Rotation};
use crate::config::RopeConfig;
use crate::fault::device_fault;
use crate::reproducible::on_one_thread;
use crate::weights::{MappedFile, Weights};
use compass_common::engine::EngineFault;
use tch::{Device, Kind, TchError, Tensor};

/// Where a model lives, and how many positions its rotary tables have at first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub(crate) kind: Kind,
    pub(crate) device: Device,
    pub(crate) positions: i64,
}

/// One transformer layer.
pub(crate) trait DecoderLayer {
    /// `[rows, hidden]` to the same; `rotation` belongs to the rows, and `cache` holds what stands before them.
    fn forward(
        &self,
        x: &Tensor,
        rotation: Option<&Rotation>,
        cache: Option<&mut LayerCache>,
    ) -> Result<Tensor, TchError>;
}

/// How a token's place enters the model.
pub(crate) enum Positions {
    Rotary(RotaryEmbedding),
    /// A row of the table is added to the embedding: the row `offset` further than the position.
    Learned {
        table: Tensor,
        offset: i64,
    },
}

impl Positions {
    /// Rotary tables.
    pub(crate) fn rotary(config: &RopeConfig, to: &Placement) -> Result<Self, EngineFault> {
        let rope = RotaryEmbedding::new(config.clone(), to.positions, (to.kind, to.device));
        rope.map(Self::Rotary).map_err(|error| device_fault(&error))
    }
}

/// A loaded model. Fields are dropped in order: the tensors before the files that they are views of.
pub(crate) struct Decoder {
    /// `[vocabulary, width]`.
    pub(crate) embed_tokens: Tensor,
    /// What embeddings are multiplied by (Gemma).
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
    /// Filled in once every tensor is taken.
    pub(crate) _files: Vec<MappedFile>,
}

/// The projection on the vocabulary: the embeddings themselves when they are tied, else `<name>.weight`.
pub(crate) fn lm_head(
    weights: &mut Weights,
    name: &str,
    embed_tokens: &Tensor,
    tied: bool,
) -> Result<Linear, EngineFault> {
    if tied {
        weights.skip_copy(&format!("{name}.weight"), embed_tokens)?;
        return Ok(Linear::new(embed_tokens.shallow_clone(), None));
    }
    Ok(Linear::new(weights.take(&format!("{name}.weight"), &embed_tokens.size())?, None))
}

impl Decoder {
    fn embed(&self, tokens: &[u32], start: i64) -> Result<Tensor, TchError> {
        let ids: Vec<i64> = tokens.iter().map(|&token| i64::from(token)).collect();
        let ids = Tensor::f_from_slice(&ids)?.f_to_device(self.placement.device)?;
        let mut x = Tensor::f_embedding(&self.embed_tokens, &ids, -1, false, false)?;
        if let Some(scale) = self.embed_scale {
            // The scale is rounded to the model's kind first, as transformers does.
            x = x.f_mul(&Tensor::f_full([1i64], scale, (self.placement.kind, self.placement.device))?)?;
        }
        if let Some(project_in) = &self.project_in {
            x = project_in.forward(&x)?;
        }
        match &self.positions {
            Positions::Rotary(_) => Ok(x),
            Positions::Learned { table, offset } => x.f_add(&table.f_narrow(0, start + offset, tokens.len() as i64)?),
        }
    }
}

impl CausalLm for Decoder {
    fn hidden(&mut self, tokens: &[u32], start: usize, mut cache: Option<&mut KvCache>) -> Result<Tensor, TchError> {
        let (mut rows, mut first) = (tokens.len() as i64, start as i64);
        let mut all = Vec::new();
        let rotation = match &mut self.positions {
            Positions::Learned { .. } => None,
            Positions::Rotary(rope) => {
                if let Some(cache) = cache.as_mut().filter(|_| rope.must_restart(first, first + rows)) {
                    all = cache.restart();
                    all.extend_from_slice(tokens);
                    (rows, first) = (all.len() as i64, 0);
                }
                Some(rope.rotation(first, rows)?)
            }
        };
        let fed = if all.is_empty() { tokens } else { &all };
        if let Some(cache) = cache.as_mut() {
            cache.note(fed);
        }
        let mut x = self.embed(fed, first)?;
        let mut past = cache.map(KvCache::layers_mut);
        for layer in &self.layers {
            x = layer.forward(&x, rotation.as_ref(), past.as_mut().and_then(Iterator::next))?;
        }
        if let Some(norm) = &self.norm {
            x = norm.forward(&x)?;
        }
        if let Some(project_out) = &self.project_out {
            x = project_out.forward(&x)?;
        }
        x.f_narrow(0, rows - tokens.len() as i64, tokens.len() as i64)
    }

    fn logits(&self, hidden: &Tensor) -> Result<Tensor, TchError> {
        let logits = self.lm_head.forward(hidden)?;
        let Some(cap) = self.final_softcap else {
            return logits.f_to_kind(Kind::Float);
        };
        let logits = logits.f_div_scalar(cap)?;
        on_one_thread(logits.numel(), || logits.f_tanh())?.f_mul_scalar(cap)?.f_to_kind(Kind::Float)
    }

    fn cache(&self, capacity: usize) -> Result<KvCache, TchError> {
        let options = (self.placement.kind, self.placement.device);
        KvCache::new(self.layers.len(), self.kv_heads, capacity as i64, self.head_dim, options)
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
