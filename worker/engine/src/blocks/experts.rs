//! The experts of a mixture: gated feed-forward layers of one shape.

use super::{Activation, GatedMlp};
use crate::kernels::{Kernels, Pairs};
use tch::{Device, Kind, TchError, Tensor};

/// All experts of a layer.
pub(crate) enum Experts {
    /// Each in its own matrices, which may be views of files. Each is computed separately; the places where its pairs begin and
    /// end are copied to the host once.
    Separate(Vec<GatedMlp>),
    /// All in one tensor each way, on CUDA: all are computed by one product, and the host need not know where pairs begin.
    Stacked(StackedExperts),
}

/// Weights of experts without biases.
pub(crate) struct StackedExperts {
    /// `[experts, 2 inner, hidden]`, the gate first.
    gate_up: Tensor,
    /// `[experts, hidden, inner]`.
    down: Tensor,
    activation: Activation,
}

/// Widths must be multiples of this, 16 bytes in bf16, for the grouped product on CUDA.
const ALIGNED: i64 = 8;

impl Experts {
    /// Creates the experts of a layer: stacked where CUDA has a grouped product for them. One layer's weights are in memory twice
    /// meanwhile.
    pub(crate) fn new(experts: Vec<GatedMlp>) -> Result<Self, TchError> {
        let mut experts = Self::Separate(experts);
        if experts.fit_on_cuda() {
            experts.stack()?;
        }
        Ok(experts)
    }

    fn fit_on_cuda(&self) -> bool {
        let Self::Separate(experts) = self else { return false };
        let fits = |weight: &Tensor| {
            let is_aligned = weight.size().iter().all(|width| width % ALIGNED == 0);
            matches!(weight.device(), Device::Cuda(_)) && weight.kind() == Kind::BFloat16 && is_aligned
        };
        let first = experts.first().and_then(GatedMlp::plain_weights);
        first.is_some_and(|weights| weights.into_iter().all(fits))
    }

    /// Stacks the experts unless they have biases.
    pub(crate) fn stack(&mut self) -> Result<(), TchError> {
        let Self::Separate(experts) = self else { return Ok(()) };
        let weights: Option<Vec<[&Tensor; 3]>> = experts.iter().map(GatedMlp::plain_weights).collect();
        let (Some(weights), Some(first)) = (weights, experts.first()) else { return Ok(()) };
        let widening: Vec<&Tensor> = weights.iter().flat_map(|&[gate, up, _]| [gate, up]).collect();
        let narrowing: Vec<&Tensor> = weights.iter().map(|&[_, _, down]| down).collect();
        let count = weights.len() as i64;
        let stacked = |parts: &[&Tensor]| {
            let rows = Tensor::f_cat(parts, 0)?;
            let (all, width) = rows.size2()?;
            rows.f_view([count, all / count, width])
        };
        let (gate_up, down) = (stacked(&widening)?, stacked(&narrowing)?);
        *self = Self::Stacked(StackedExperts { gate_up, down, activation: first.activation });
        Ok(())
    }

    /// Number of experts.
    pub(super) fn count(&self) -> i64 {
        match self {
            Self::Separate(experts) => experts.len() as i64,
            Self::Stacked(stacked) => stacked.down.size().first().copied().unwrap_or(0),
        }
    }

    /// Maps the rows of the pairs, `[pairs, hidden]`, sorted by expert, to the same shape.
    pub(super) fn forward(&self, kernels: &dyn Kernels, x: &Tensor, pairs: &Pairs) -> Result<Tensor, TchError> {
        match self {
            Self::Stacked(StackedExperts { gate_up, down, activation }) => {
                let both = kernels.grouped_linear(x, gate_up, pairs)?;
                let half = both.size().last().copied().unwrap_or(0) / 2;
                let inner = kernels.gate(*activation, &both.f_narrow(1, 0, half)?, &both.f_narrow(1, half, half)?)?;
                kernels.grouped_linear(&inner, down, pairs)
            }
            Self::Separate(experts) => {
                let ends = kernels.ids_to_host(&pairs.ends)?;
                let starts = std::iter::once(0).chain(ends.iter().copied());
                let used = experts.iter().zip(starts.zip(&ends)).filter(|(_, (start, end))| start < *end);
                let outputs =
                    used.map(|(expert, (start, end))| expert.forward(kernels, &x.f_narrow(0, start, end - start)?));
                Tensor::f_cat(&outputs.collect::<Result<Vec<_>, TchError>>()?, 0)
            }
        }
    }
}
