//! A model alone: token ids in, logits out, without tokenizer, prompts or samples. `serve-openai` scores texts with it, `gpu-check` and
//! tests compare it with other implementations.

use crate::config::ModelConfig;
use crate::device::{DeviceChoice, resolve};
use crate::executor::{Slots, Trace, Traced, trace};
use crate::fault::device_fault;
use crate::kernels::{Counting, DeviceCounts, Reference};
use crate::kv::{Arena, ExtentId, Segment};
use crate::load::{Spread, load_model, open, open_random};
use crate::models::{CausalLm, Family, Placement, Stages};
use crate::reproducible::make_mkl_reproducible;
use crate::weights::Weights;
use compass_plan::engine::{EngineFault, TokenCounters};
use compass_plan::{Dtype, ModelKind};
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use tch::{Device, Kind, TchError, Tensor};

/// A model alone. It must stay on the thread that loaded it.
pub struct BareModel {
    model: Box<dyn CausalLm>,
}

impl BareModel {
    /// Loads the model in `directory`; the calling thread's number of libtorch threads becomes `threads` (at least 1).
    ///
    /// # Errors
    /// As [`crate::load`].
    pub fn load(directory: &Path, dtype: Dtype, device: &DeviceChoice, threads: u32) -> Result<Self, EngineFault> {
        Self::load_layout(directory, ModelKind::Hf, dtype, device, threads)
    }

    /// Loads the model as [`BareModel::load`] does, from a directory in the layout of another kind of model.
    ///
    /// # Errors
    /// As [`crate::load`].
    pub fn load_layout(
        directory: &Path,
        layout: ModelKind,
        dtype: Dtype,
        device: &DeviceChoice,
        threads: u32,
    ) -> Result<Self, EngineFault> {
        tch::set_num_threads(i32::try_from(threads.max(1)).unwrap_or(i32::MAX));
        let _no_grad = tch::no_grad_guard();
        let mut notes: Vec<String> = make_mkl_reproducible().map(str::to_owned).into_iter().collect();
        let config = ModelConfig::read(directory, layout)?;
        let devices = [resolve(*device)?];
        let on = Spread::ByMemory { devices: &devices, colocated_engines: 1 };
        let opened = open(directory, layout, &config, dtype, on.home())?;
        let model = load_model(opened, &config, on, 64, &mut notes)?.model;
        for note in notes {
            tracing::warn!(note, "a setting of the model's files is ignored");
        }
        Ok(Self { model })
    }

    /// Makes a model by the config.json in `directory` with weights from `seed`: the same on every device, if it is small.
    pub(crate) fn random(
        directory: &Path,
        dtype: Dtype,
        device: &DeviceChoice,
        (threads, seed): (u32, i64),
    ) -> Result<Self, EngineFault> {
        tch::set_num_threads(i32::try_from(threads.max(1)).unwrap_or(i32::MAX));
        let _no_grad = tch::no_grad_guard();
        make_mkl_reproducible();
        let config = ModelConfig::read(directory, ModelKind::Hf)?;
        let devices = [resolve(*device)?];
        let on = Spread::ByMemory { devices: &devices, colocated_engines: 1 };
        let opened = open_random(directory, &config, (ModelKind::Hf, dtype), on.home(), seed)?;
        Ok(Self { model: load_model(opened, &config, on, 64, &mut Vec::new())?.model })
    }

    /// Loads the model as [`BareModel::load`] does, with the adapter in `adapter` merged.
    ///
    /// # Errors
    /// As [`crate::load`].
    pub fn load_adapted(
        directory: &Path,
        adapter: &Path,
        dtype: Dtype,
        device: &DeviceChoice,
    ) -> Result<Self, EngineFault> {
        tch::set_num_threads(1);
        let _no_grad = tch::no_grad_guard();
        make_mkl_reproducible();
        let config = ModelConfig::read(directory, ModelKind::Hf)?;
        let devices = [resolve(*device)?];
        let on = Spread::ByMemory { devices: &devices, colocated_engines: 1 };
        let mut opened = open(directory, ModelKind::Hf, &config, dtype, on.home())?;
        opened.weights.adapt(adapter)?;
        Ok(Self { model: load_model(opened, &config, on, 64, &mut Vec::new())?.model })
    }

    /// Loads the model as [`BareModel::load`] does, with the layers on their own devices, in order; the rest is on
    /// the first.
    ///
    /// # Errors
    /// As [`crate::load`].
    pub fn load_spread(directory: &Path, dtype: Dtype, devices: &[DeviceChoice]) -> Result<Self, EngineFault> {
        tch::set_num_threads(1);
        let _no_grad = tch::no_grad_guard();
        make_mkl_reproducible();
        let config = ModelConfig::read(directory, ModelKind::Hf)?;
        let devices = devices.iter().map(|device| resolve(*device)).collect::<Result<Vec<_>, _>>()?;
        let on = Spread::Layers(&devices);
        let opened = open(directory, ModelKind::Hf, &config, dtype, on.home())?;
        let model = load_model(opened, &config, on, 64, &mut Vec::new())?.model;
        Ok(Self { model })
    }

    /// Loads the model in `directory` in float32 on the CPU as for a device on which each operation has a cost: products
    /// of the same rows are joined, experts are stacked, and the counts grow with the work of that device.
    ///
    /// # Errors
    /// As [`crate::load`].
    pub fn load_counted(directory: &Path) -> Result<(Self, Rc<Cell<DeviceCounts>>), EngineFault> {
        tch::set_num_threads(1);
        let _no_grad = tch::no_grad_guard();
        make_mkl_reproducible();
        let config = ModelConfig::read(directory, ModelKind::Hf)?;
        let (kind, device) = (Kind::Float, Device::Cpu);
        let file = ModelConfig::file_of(ModelKind::Hf);
        let weights = Weights::open(directory, ModelKind::Hf, file, (kind, device))?;
        let to = Placement { kind, device, positions: 64, sharing: 1, weights: (0, 0), stages: Stages::ByDevice };
        let mut decoder = Family::of(&config)?.load(&config, weights, to, &mut Vec::new(), &mut Vec::new())?;
        decoder.join().and_then(|()| decoder.stack_experts()).map_err(|error| device_fault(&error))?;
        let counts = Rc::new(Cell::new(DeviceCounts::default()));
        decoder.kernels = Box::new(Counting::new(Reference, Rc::clone(&counts)));
        Ok((Self { model: Box::new(decoder) }, counts))
    }

    /// Size of the vocabulary; every token must be below.
    pub fn vocabulary(&self) -> usize {
        self.model.vocabulary()
    }

    /// Returns whether results for a prefix of a sequence of `length` tokens are valid for the whole.
    pub fn shares_prefixes(&self, length: usize) -> bool {
        self.model.shares_prefixes(length)
    }

    /// Returns logits at every position of `tokens`, computed at once: `[tokens, vocabulary]`, row by row.
    ///
    /// # Errors
    /// [`EngineFault::Device`] if libtorch fails, for example at a token beyond the vocabulary.
    pub fn prefill(&mut self, tokens: &[u32]) -> Result<Vec<f32>, EngineFault> {
        let _no_grad = tch::no_grad_guard();
        self.step_by_step(tokens, tokens.len()).map_err(|error| device_fault(&error))
    }

    /// Returns the logits of [`BareModel::prefill`], computing the first `prompt` tokens (at least 1) at once and the
    /// others one by one with a cache.
    ///
    /// # Errors
    /// As [`BareModel::prefill`].
    pub fn decode(&mut self, tokens: &[u32], prompt: usize) -> Result<Vec<f32>, EngineFault> {
        let _no_grad = tch::no_grad_guard();
        self.step_by_step(tokens, prompt.clamp(1, tokens.len().max(1))).map_err(|error| device_fault(&error))
    }

    /// Returns the logits of prefix segments: `[rows, vocabulary]`, row by row. A segment is the position of its first
    /// token and its tokens; it follows the last of the earlier segments, of this pass or of previous ones, that ends at
    /// that position.
    ///
    /// # Errors
    /// As [`BareModel::prefill`].
    pub fn packed(&mut self, passes: &[&[(usize, &[u32])]]) -> Result<Vec<f32>, EngineFault> {
        let _no_grad = tch::no_grad_guard();
        let mut run = || -> Result<Vec<f32>, TchError> {
            let all = passes.iter().flat_map(|pass| pass.iter()).map(|(_, tokens)| tokens.len()).sum();
            let mut arena = self.model.arena(all)?;
            // The path of the last segment: extents, and where each begins.
            let mut path: Vec<(ExtentId, usize)> = Vec::new();
            let mut logits = Vec::new();
            for pass in passes {
                let mut segments = Vec::with_capacity(pass.len());
                for &(position, tokens) in *pass {
                    path.retain(|&(_, begins)| begins < position);
                    let own = extent(&mut arena, tokens.len())?;
                    let above = path.iter().map(|&(extent, _)| extent).collect();
                    let rows = tokens.len();
                    segments.push(Segment { path: above, own, before: 0, position, rows, decodes: false });
                    path.push((own, position));
                }
                let tokens: Vec<u32> = pass.iter().flat_map(|(_, tokens)| tokens.iter().copied()).collect();
                let hidden = self.model.hidden(&tokens, &segments, &mut arena)?;
                logits.extend(row_after_row(&self.model.wide_logits(&hidden)?)?);
            }
            Ok(logits)
        };
        run().map_err(|error| device_fault(&error))
    }

    /// Maximum number of tokens of a sequence, for learnt positions.
    pub fn most_positions(&self) -> Option<usize> {
        self.model.most_positions()
    }

    /// Continues prompts together, at most `slots` at once (0 for the default number), greedily or by draws of `seed`;
    /// returns traces in the order of `asked`.
    ///
    /// # Errors
    /// As [`BareModel::prefill`].
    pub fn continue_together(
        &mut self,
        asked: &[Traced],
        slots: usize,
        seed: Option<u64>,
    ) -> Result<(Vec<Trace>, TokenCounters), EngineFault> {
        self.continue_by(asked, Slots::new(slots, false), seed)
    }

    /// The same as on a device that computes asynchronously: the next step is launched before a step is read, and the device chooses
    /// all tokens.
    ///
    /// # Errors
    /// As [`BareModel::prefill`].
    pub fn continue_ahead(
        &mut self,
        asked: &[Traced],
        slots: usize,
        seed: Option<u64>,
    ) -> Result<(Vec<Trace>, TokenCounters), EngineFault> {
        self.continue_by(asked, Slots::new(slots, true), seed)
    }

    fn continue_by(
        &mut self,
        asked: &[Traced],
        slots: Slots,
        seed: Option<u64>,
    ) -> Result<(Vec<Trace>, TokenCounters), EngineFault> {
        let _no_grad = tch::no_grad_guard();
        let mut counters = TokenCounters::default();
        let traces = trace(self.model.as_mut(), asked, slots, seed, &mut counters);
        Ok((traces.map_err(|error| device_fault(&error))?, counters))
    }

    /// Returns the `count` tokens with the largest logits that follow `prompt`, one after the other over a cache.
    ///
    /// # Errors
    /// As [`BareModel::prefill`].
    pub(crate) fn greedy(&mut self, prompt: &[u32], count: usize) -> Result<Vec<u32>, EngineFault> {
        let _no_grad = tch::no_grad_guard();
        let mut run = || -> Result<Vec<u32>, TchError> {
            let mut arena = self.model.arena(prompt.len() + count)?;
            let own = extent(&mut arena, prompt.len() + count)?;
            let (mut made, mut next, mut position) = (Vec::with_capacity(count), prompt.to_vec(), 0);
            while made.len() < count {
                let segment = Segment::alone(own, position, next.len());
                let hidden = self.model.hidden(&next, &[segment], &mut arena)?;
                let logits = self.model.wide_logits(&hidden)?.f_select(0, -1)?;
                let best = logits.f_argmax(-1, false)?.f_int64_value(&[])? as u32;
                position += next.len();
                next = vec![best];
                made.push(best);
            }
            Ok(made)
        };
        run().map_err(|error| device_fault(&error))
    }

    fn step_by_step(&mut self, tokens: &[u32], prompt: usize) -> Result<Vec<f32>, TchError> {
        let mut arena = self.model.arena(tokens.len())?;
        let own = extent(&mut arena, tokens.len())?;
        let (first, others) = tokens.split_at(prompt.min(tokens.len()));
        let hidden = self.model.hidden(first, &[Segment::alone(own, 0, first.len())], &mut arena)?;
        let mut logits = row_after_row(&self.model.wide_logits(&hidden)?)?;
        for (step, token) in others.iter().enumerate() {
            let segment = Segment::alone(own, prompt + step, 1);
            let hidden = self.model.hidden(&[*token], &[segment], &mut arena)?;
            logits.extend(row_after_row(&self.model.wide_logits(&hidden)?)?);
        }
        Ok(logits)
    }
}

fn extent(arena: &mut Arena, tokens: usize) -> Result<ExtentId, TchError> {
    arena.allocate(tokens).ok_or_else(|| TchError::Torch("the arena has no room".into()))
}

fn row_after_row(logits: &Tensor) -> Result<Vec<f32>, TchError> {
    Vec::<f32>::try_from(&logits.f_reshape([-1])?)
}
