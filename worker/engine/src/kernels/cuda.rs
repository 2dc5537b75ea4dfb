//! The operations on CUDA: libtorch's fused kernels where there are any, and attention of a whole level in one call.

use super::draw::draw;
use super::flash::{Flash, WIDEST_HEAD};
use super::fused::lists;
use super::operations::add_then_norm;
use super::reference::change;
use super::{Fused, Kernels, Pairs, Part, Reference, ToHost, Warp, attention_error, attention_tolerance};
use crate::blocks::Activation;
use crate::cuda::cuda_processors;
use crate::kernels::{RmsForm, Rotation, Routes, RoutingRule, ScoreRule};
use crate::kv::{Chain, LayerKv, Level, Masks, VarlenOnDevice};
use crate::reproducible::is_deterministic_on;
use tch::{Device, Kind, TchError, Tensor};

/// Least number of processors for which the kernel for single rows is given sequences: it divides no keys where sequences and
/// key-value heads multiply to 0.8 times twice the GPU's. Some GPUs have more; the driver reports their number.
const PROCESSORS: i64 = 160;

/// libtorch's CUDA operations.
pub(crate) struct Cuda {
    flash: Flash,
    /// Kernels of our own, where they work.
    fused: Option<Fused>,
    note: Option<String>,
    /// Processors of the GPUs, and at least [`PROCESSORS`].
    processors: i64,
    others: Reference,
}

impl Cuda {
    /// Returns the operations for a model with key-value heads of this number and width, in `kind` on `device`.
    ///
    /// # Errors
    /// Why attention remains in single operations, for the user: the kernel is missing, or its numbers are wrong.
    pub(crate) fn new((kv_heads, head_dim): (i64, i64), kind: Kind, device: Device) -> Result<Self, String> {
        let flash = Flash::find().ok_or("this libtorch has no flash attention")?;
        if !matches!(kind, Kind::Half | Kind::BFloat16) {
            return Err("flash attention computes in bfloat16 and float16 alone".into());
        }
        if head_dim > WIDEST_HEAD || head_dim % 8 != 0 {
            return Err(format!("flash attention has no heads of width {head_dim}"));
        }
        // All GPUs of a replica: its layers may lie on any.
        let seen = (0..usize::try_from(tch::Cuda::device_count()).unwrap_or(0)).filter_map(cuda_processors);
        let processors = seen.map(i64::from).max().unwrap_or(0).max(PROCESSORS);
        let mut cuda = Self { flash, fused: None, note: None, processors, others: Reference };
        for group in [1, 4] {
            match attention_error(&cuda, (kv_heads * group, kv_heads, head_dim), (kind, device)) {
                Ok(off) if off <= attention_tolerance(kind) => {}
                Ok(off) => return Err(format!("flash attention is off by {off:.1e} on this GPU")),
                Err(error) => return Err(format!("flash attention fails on this GPU: {error}")),
            }
        }
        if kind == Kind::BFloat16 {
            let fused = Fused::new(device);
            cuda.note = fused.as_ref().err().cloned();
            cuda.fused = fused.ok();
        }
        Ok(cuda)
    }

    /// Returns why kernels of our own are not used, for the user; `None` where they are, or are not meant to be.
    pub(crate) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Attends with the rows of one call.
    fn call(
        &self,
        queries: &Tensor,
        kv: &LayerKv,
        (lists, causal): (&VarlenOnDevice, bool),
        scale: f64,
    ) -> Result<Part, TchError> {
        let call = &lists.call;
        let own = queries.f_narrow(0, call.first, call.rows)?;
        let filled = if call.added > 0 { own.f_constant_pad_nd([0, 0, 0, 0, 0, call.added])? } else { own };
        let (out, log_sum) = self.flash.attend(&filled, (&kv.keys, &kv.values), lists, causal, scale)?;
        let (out, log_sum) = match call.added {
            0 => (out, log_sum),
            _ => (out.f_narrow(0, 0, call.rows)?, log_sum.f_narrow(1, 0, call.rows)?),
        };
        let log_sum = match call.has_blind_rows {
            false => log_sum,
            // A row that sees nothing at any level pads the pass: some finite number serves as well as another.
            true => {
                log_sum.f_masked_fill(&log_sum.f_eq(f64::INFINITY)?, if causal { 0.0 } else { f64::NEG_INFINITY })?
            }
        };
        Ok(Part { out, log_sum: log_sum.f_transpose(0, 1)? })
    }
}

/// Copies numbers of the host to a GPU behind what that has to do.
fn without_waiting(here: &Tensor, device: Device) -> Result<Tensor, TchError> {
    if device.is_cuda() { here.f_internal_to_copy((here.kind(), device), true) } else { here.f_to_device(device) }
}

/// Product of sequences and key-value heads from which keys are not divided on a GPU with this many processors: 0.8 times
/// twice as many, rounded up.
fn undivided(processors: i64) -> i64 {
    (processors * 2 * 8 + 9) / 10
}

impl Kernels for Cuda {
    /// The host does not wait for the device's work: the driver copies data in pageable memory before the
    /// call returns.
    fn to_device(&self, numbers: &[i64], device: Device) -> Result<Tensor, TchError> {
        without_waiting(&Tensor::f_from_slice(numbers)?, device)
    }

    fn begin_to_host(&self, numbers: &Tensor) -> Result<ToHost, TchError> {
        ToHost::begin(numbers)
    }

    fn best(&self, logits: &Tensor) -> Result<Tensor, TchError> {
        self.others.best(logits)
    }

    fn draw(&self, logits: &Tensor, warp: Warp, uniforms: &[f64]) -> Result<Tensor, TchError> {
        let there = without_waiting(&Tensor::f_from_slice(uniforms)?, logits.device())?;
        if let Some(fused) = &self.fused
            && let Some(drawn) = fused.draw(logits, warp, &there)?
        {
            return Ok(drawn);
        }
        draw(logits, &warp, &there)
    }

    fn change(&self, logits: &Tensor, penalised: &[i64], penalty: f32, forbidden: &[i64]) -> Result<(), TchError> {
        change(self, logits, (penalised, penalty), forbidden)
    }

    fn token_scores(&self, logits: &Tensor, targets: &[&[u32]]) -> Result<Tensor, TchError> {
        if let Some(fused) = &self.fused {
            let (ids, first) = lists(targets);
            let (ids, first) = (self.to_device(&ids, logits.device())?, self.to_device(&first, logits.device())?);
            if let Some(scores) = fused.token_scores(logits, (&ids, &first))? {
                return Ok(scores);
            }
        }
        self.others.token_scores(logits, targets)
    }

    fn embed(&self, table: &Tensor, ids: &Tensor) -> Result<Tensor, TchError> {
        self.others.embed(table, ids)
    }

    fn linear(&self, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor, TchError> {
        self.others.linear(x, weight, bias)
    }

    /// libtorch's kernel, where ours does not fit, rounds once, after the weight; transformers often rounds before it too.
    fn rms_norm(&self, x: &Tensor, weight: &Tensor, eps: f64, form: RmsForm) -> Result<Tensor, TchError> {
        if let Some(fused) = &self.fused
            && let Some((_, normed)) = fused.rms_norm(x, None, weight, (eps, form))?
        {
            return Ok(normed);
        }
        if form == RmsForm::FromOne || x.device() == Device::Cpu {
            return self.others.rms_norm(x, weight, eps, form);
        }
        Ok(x.f_internal_fused_rms_norm(weight.size(), Some(weight), eps)?.0)
    }

    fn add_and_norm(
        &self,
        (a, b): (&Tensor, &Tensor),
        weight: &Tensor,
        eps: f64,
        form: RmsForm,
    ) -> Result<(Tensor, Tensor), TchError> {
        if let Some(fused) = &self.fused
            && let Some((Some(sum), normed)) = fused.rms_norm(a, Some(b), weight, (eps, form))?
        {
            return Ok((sum, normed));
        }
        add_then_norm(self, (a, b), weight, eps, form)
    }

    fn layer_norm(&self, x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f64) -> Result<Tensor, TchError> {
        self.others.layer_norm(x, weight, bias, eps)
    }

    fn activate(&self, activation: Activation, x: &Tensor) -> Result<Tensor, TchError> {
        self.others.activate(activation, x)
    }

    fn gate(&self, activation: Activation, gate: &Tensor, up: &Tensor) -> Result<Tensor, TchError> {
        if let Some(fused) = self.fused.as_ref().filter(|_| activation == Activation::Silu)
            && let Some(gated) = fused.silu_gate(gate, up)?
        {
            return Ok(gated);
        }
        self.others.gate(activation, gate, up)
    }

    fn add(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, TchError> {
        self.others.add(a, b)
    }

    fn scale(&self, x: &Tensor, factor: f64) -> Result<Tensor, TchError> {
        self.others.scale(x, factor)
    }

    fn rotate(&self, x: &Tensor, rotation: &Rotation) -> Result<Tensor, TchError> {
        if let Some(fused) = &self.fused
            && let Some(turned) = fused.rotate(x, rotation)?
        {
            return Ok(turned);
        }
        self.others.rotate(x, rotation)
    }

    fn gate_rows(&self, x: &Tensor, gates: &Tensor) -> Result<Tensor, TchError> {
        self.others.gate_rows(x, gates)
    }

    fn route(&self, logits: &Tensor, rule: &RoutingRule, top_k: i64, kind: Kind) -> Result<Routes, TchError> {
        self.others.route(logits, rule, top_k, kind)
    }

    fn sort_pairs(&self, routes: &Routes, experts: i64) -> Result<Pairs, TchError> {
        self.others.sort_pairs(routes, experts)
    }

    fn grouped_linear(&self, x: &Tensor, weight: &Tensor, pairs: &Pairs) -> Result<Tensor, TchError> {
        self.others.grouped_linear(x, weight, pairs)
    }

    fn mix(&self, outputs: &Tensor, pairs: &Pairs) -> Result<Tensor, TchError> {
        self.others.mix(outputs, pairs)
    }

    fn concat(&self, parts: &[&Tensor]) -> Result<Tensor, TchError> {
        self.others.concat(parts)
    }

    fn write(&self, kv: &LayerKv, keys: &Tensor, values: &Tensor, places: &Tensor) -> Result<(), TchError> {
        if let Some(fused) = &self.fused
            && let Some(()) = fused.write(kv, keys, values, places)?
        {
            return Ok(());
        }
        self.others.write(kv, keys, values, places)
    }

    fn attend(&self, queries: &Tensor, kv: &LayerKv, level: &Level, rule: &ScoreRule) -> Result<Part, TchError> {
        // Layers for which the GPUs have no room.
        if !self.flash.runs_on(queries.device()) {
            return self.others.attend(queries, kv, level, rule);
        }
        let (rows, heads, head_dim) = queries.size3()?;
        let (_, kv_heads, _) = kv.keys.size3()?;
        // Without groups there is no kernel for single rows.
        let may_divide = heads > kv_heads && is_deterministic_on(queries.device());
        let least = if may_divide { (undivided(self.processors) + kv_heads - 1) / kv_heads } else { 1 };
        let calls = level.varlen_on(self, (rows, least), queries.device())?;
        let scale = rule.scale_for(head_dim);
        let parts = calls.iter().map(|lists| self.call(queries, kv, (lists, level.causal), scale));
        let mut parts = parts.collect::<Result<Vec<Part>, TchError>>()?;
        if parts.len() == 1
            && let Some(whole) = parts.pop()
        {
            return Ok(whole);
        }
        let (outs, sums): (Vec<Tensor>, Vec<Tensor>) = parts.into_iter().map(|part| (part.out, part.log_sum)).unzip();
        Ok(Part { out: Tensor::f_cat(&outs, 0)?, log_sum: Tensor::f_cat(&sums, 0)? })
    }

    fn merge(&self, parts: &[Part]) -> Result<Tensor, TchError> {
        if let Some(fused) = &self.fused
            && let Some(merged) = fused.merge(parts)?
        {
            return Ok(merged);
        }
        self.others.merge(parts)
    }

    fn attend_chains(
        &self,
        queries: &Tensor,
        kv: &LayerKv,
        chains: (&[Chain], &Masks),
        rule: &ScoreRule,
    ) -> Result<Tensor, TchError> {
        self.others.attend_chains(queries, kv, chains, rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ON_CPU: (Kind, Device) = (Kind::Float, Device::Cpu);

    /// The calls of each level, as the kernel reads them, give the formula's results.
    #[test]
    fn calls_of_levels_are_attention() {
        tch::manual_seed(11);
        let cuda = Cuda { flash: Flash::Twin, fused: None, note: None, processors: PROCESSORS, others: Reference };
        for shape in [(6, 2, 16), (4, 4, 16), (8, 1, 16)] {
            let off = attention_error(&cuda, shape, ON_CPU).unwrap();
            assert!(off <= attention_tolerance(Kind::Float), "{shape:?}: {off}");
            let off = attention_error(&Reference, shape, ON_CPU).unwrap();
            assert!(off <= attention_tolerance(Kind::Float), "{shape:?}: {off}");
        }
    }

    /// A check at load that finds no error would be useless.
    #[test]
    fn a_kernel_of_wrong_numbers_is_noticed() {
        tch::manual_seed(11);
        let cuda =
            Cuda { flash: Flash::TwinOffByOne, fused: None, note: None, processors: PROCESSORS, others: Reference };
        let off = attention_error(&cuda, (4, 2, 16), ON_CPU).unwrap();
        assert!(off.is_finite() && off > attention_tolerance(Kind::BFloat16), "{off}");
    }

    #[test]
    fn without_a_gpu_there_is_no_kernel() {
        let error = Cuda::new((2, 16), Kind::BFloat16, Device::Cpu).err();
        assert_eq!(error.as_deref(), Some("this libtorch has no flash attention"));
    }
}
