//! Count of the work that a forward pass would be for a device.
//!
//! A call costs what CUDA's stock operations need for it: fused norms, one flash kernel for a level, and pointwise
//! operations one by one. Views are free, and what prepares a pass counts once for all layers.

use super::{Kernels, Pairs, Part, ToHost, Warp, added_rows};
use crate::blocks::Activation;
use crate::kernels::{RmsForm, Rotation, Routes, RoutingRule, ScoreRule};
use crate::kv::{Chain, LayerKv, Level, Masks};
use std::cell::Cell;
use std::rc::Rc;
use tch::{Device, Kind, TchError, Tensor};

/// Work of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounts {
    /// Operations that run on the device.
    pub operations: u64,
    /// Copies from the host to the device, for which the host does not wait.
    pub copies_to_device: u64,
    /// Copies from the device to the host, for each of which the host waits.
    pub copies_to_host: u64,
    /// Bytes of both kinds of copies.
    pub bytes: u64,
}

/// Negation, concatenation, two products, and a sum.
const ROTATION: u64 = 5;

/// Keys, and values.
const WRITE: u64 = 2;

/// The non-linearity, and the product.
const GATE: u64 = 2;

/// Two sorts, two sums, and the operations between them.
const DRAW: u64 = 30;

/// Reading, two changes and the choice between them, and writing.
const PENALTY: u64 = 5;

/// A cast, the softmax, reading, the best in two, and the list of both.
const SCORES: u64 = 6;

/// Groups' scores and the best of them, and the mask of the others in five.
const GROUPS: u64 = 7;

/// Two orders, shares and rows by them, the places of pairs, and the ends of experts.
const SORT: u64 = 6;

/// Filling, and copying.
const PADDING: u64 = 2;

/// Other kernels, with a count of their work.
pub(crate) struct Counting<K> {
    inner: K,
    counts: Rc<Cell<DeviceCounts>>,
}

impl<K> Counting<K> {
    /// Wraps operations; the counts grow with every call.
    pub(crate) fn new(inner: K, counts: Rc<Cell<DeviceCounts>>) -> Self {
        Self { inner, counts }
    }

    fn count(&self, operations: u64) {
        let counts = self.counts.get();
        self.counts.set(DeviceCounts { operations: counts.operations + operations, ..counts });
    }

    fn to_host(&self, bytes: usize) {
        let counts = self.counts.get();
        let bytes = counts.bytes + bytes as u64;
        self.counts.set(DeviceCounts { copies_to_host: counts.copies_to_host + 1, bytes, ..counts });
    }
}

impl<K: Kernels> Kernels for Counting<K> {
    fn to_device(&self, numbers: &[i64], device: Device) -> Result<Tensor, TchError> {
        let counts = self.counts.get();
        let bytes = counts.bytes + size_of_val(numbers) as u64;
        self.counts.set(DeviceCounts { copies_to_device: counts.copies_to_device + 1, bytes, ..counts });
        self.inner.to_device(numbers, device)
    }

    fn begin_to_host(&self, numbers: &Tensor) -> Result<ToHost, TchError> {
        self.to_host(numbers.numel() * numbers.kind().elt_size_in_bytes());
        self.inner.begin_to_host(numbers)
    }

    /// Never, as on a GPU: the work of one is counted.
    fn host_chooses(&self, _: Device) -> bool {
        false
    }

    /// About thirty operations for each block of rows, whatever their number.
    fn draw(&self, logits: &Tensor, warp: Warp, uniforms: &[f64]) -> Result<Tensor, TchError> {
        self.count(DRAW);
        let counts = self.counts.get();
        let bytes = counts.bytes + size_of_val(uniforms) as u64;
        self.counts.set(DeviceCounts { copies_to_device: counts.copies_to_device + 1, bytes, ..counts });
        self.inner.draw(logits, warp, uniforms)
    }

    fn change(&self, logits: &Tensor, penalised: &[i64], penalty: f32, forbidden: &[i64]) -> Result<(), TchError> {
        let lists = [(penalised, PENALTY), (forbidden, 1)];
        for (places, operations) in lists.into_iter().filter(|(places, _)| !places.is_empty()) {
            self.count(operations);
            let counts = self.counts.get();
            let bytes = counts.bytes + size_of_val(places) as u64;
            self.counts.set(DeviceCounts { copies_to_device: counts.copies_to_device + 1, bytes, ..counts });
        }
        self.inner.change(logits, penalised, penalty, forbidden)
    }

    /// Log-probabilities, the requested ones, and the best.
    fn token_scores(&self, logits: &Tensor, targets: &[&[u32]]) -> Result<Tensor, TchError> {
        self.count(SCORES);
        let places = targets.iter().map(|ids| ids.len()).sum::<usize>();
        let counts = self.counts.get();
        let bytes = counts.bytes + (places * size_of::<i64>()) as u64;
        self.counts.set(DeviceCounts { copies_to_device: counts.copies_to_device + 1, bytes, ..counts });
        self.inner.token_scores(logits, targets)
    }

    fn embed(&self, table: &Tensor, ids: &Tensor) -> Result<Tensor, TchError> {
        self.count(1);
        self.inner.embed(table, ids)
    }

    fn linear(&self, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor, TchError> {
        let rows = x.size().first().copied().unwrap_or(0);
        self.count(if added_rows(rows, x.device()) > 0 { 1 + PADDING } else { 1 });
        self.inner.linear(x, weight, bias)
    }

    fn rms_norm(&self, x: &Tensor, weight: &Tensor, eps: f64, form: RmsForm) -> Result<Tensor, TchError> {
        self.count(1);
        self.inner.rms_norm(x, weight, eps, form)
    }

    fn layer_norm(&self, x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f64) -> Result<Tensor, TchError> {
        self.count(1);
        self.inner.layer_norm(x, weight, bias, eps)
    }

    fn activate(&self, activation: Activation, x: &Tensor) -> Result<Tensor, TchError> {
        self.count(1);
        self.inner.activate(activation, x)
    }

    fn gate(&self, activation: Activation, gate: &Tensor, up: &Tensor) -> Result<Tensor, TchError> {
        self.count(GATE);
        self.inner.gate(activation, gate, up)
    }

    fn add(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, TchError> {
        self.count(1);
        self.inner.add(a, b)
    }

    fn scale(&self, x: &Tensor, factor: f64) -> Result<Tensor, TchError> {
        self.count(1);
        self.inner.scale(x, factor)
    }

    fn rotate(&self, x: &Tensor, rotation: &Rotation) -> Result<Tensor, TchError> {
        self.count(ROTATION);
        self.inner.rotate(x, rotation)
    }

    fn gate_rows(&self, x: &Tensor, gates: &Tensor) -> Result<Tensor, TchError> {
        self.count(GATE);
        self.inner.gate_rows(x, gates)
    }

    fn route(&self, logits: &Tensor, rule: &RoutingRule, top_k: i64, kind: Kind) -> Result<Routes, TchError> {
        self.count(match rule {
            // Scores, the best of them, their sum and quotient, and a cast.
            RoutingRule::Softmax { normalise } => 3 + 2 * u64::from(*normalise),
            RoutingRule::ScaledSoftmax { groups, .. } => 3 + groups.map_or(0, |_| GROUPS),
            // Scores, their correction, the best, their shares and a factor; a sum, a term and a quotient.
            RoutingRule::Sigmoid { groups, normalise, .. } => {
                5 + groups.map_or(0, |_| GROUPS + 1) + 3 * u64::from(*normalise)
            }
        });
        self.inner.route(logits, rule, top_k, kind)
    }

    fn sort_pairs(&self, routes: &Routes, experts: i64) -> Result<Pairs, TchError> {
        self.count(SORT);
        self.inner.sort_pairs(routes, experts)
    }

    fn grouped_linear(&self, x: &Tensor, weight: &Tensor, pairs: &Pairs) -> Result<Tensor, TchError> {
        // The ends in 32 bits, and the product.
        self.count(2);
        self.inner.grouped_linear(x, weight, pairs)
    }

    /// A copy in order of the rows, a product, sums between the ranks, and a cast.
    fn mix(&self, outputs: &Tensor, pairs: &Pairs) -> Result<Tensor, TchError> {
        self.count(2 + pairs.top_k());
        self.inner.mix(outputs, pairs)
    }

    fn concat(&self, parts: &[&Tensor]) -> Result<Tensor, TchError> {
        self.count(1);
        self.inner.concat(parts)
    }

    fn write(&self, kv: &LayerKv, keys: &Tensor, values: &Tensor, places: &Tensor) -> Result<(), TchError> {
        let filled = values.size().last() < keys.size().last();
        self.count(if filled { WRITE + 1 } else { WRITE });
        self.inner.write(kv, keys, values, places)
    }

    fn attend(&self, queries: &Tensor, kv: &LayerKv, level: &Level, rule: &ScoreRule) -> Result<Part, TchError> {
        self.count(1);
        self.inner.attend(queries, kv, level, rule)
    }

    /// Stacking of the sums and their softmax, a product for each part, and sums between them.
    fn merge(&self, parts: &[Part]) -> Result<Tensor, TchError> {
        self.count(2 * parts.len() as u64 + 1);
        self.inner.merge(parts)
    }

    /// Two copies and a kernel for each sequence, and the concatenation.
    fn attend_chains(
        &self,
        queries: &Tensor,
        kv: &LayerKv,
        chains: (&[Chain], &Masks),
        rule: &ScoreRule,
    ) -> Result<Tensor, TchError> {
        self.count(3 * chains.0.len() as u64 + 1);
        self.inner.attend_chains(queries, kv, chains, rule)
    }

    fn best(&self, logits: &Tensor) -> Result<Tensor, TchError> {
        self.count(4);
        self.inner.best(logits)
    }
}
