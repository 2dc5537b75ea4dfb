//! The interface between the forward pass and a device.

use super::{Pairs, ToHost, Warp};
use crate::blocks::Activation;
use crate::kernels::{RmsForm, Rotation, Routes, RoutingRule, ScoreRule};
use crate::kv::{Chain, LayerKv, Level, Masks};
use tch::{Device, Kind, TchError, Tensor};

/// Attention of the rows of a pass over a part of their keys.
pub(crate) struct Part {
    /// `[rows, heads, head_dim]`; finite for rows that see nothing.
    pub(crate) out: Tensor,
    /// Logarithm of the sum of the exponentials of a row's scores, `[rows, heads]` in f32; minus infinity for rows that
    /// see nothing.
    pub(crate) log_sum: Tensor,
}

/// Operations of a forward pass.
///
/// Invariant: no row of a result depends on the number of rows, nor on the other rows, to the bit. Everything that a
/// forward pass computes goes through here; code between two calls only views tensors otherwise.
pub(crate) trait Kernels {
    /// Copies numbers of the host to a device.
    fn to_device(&self, numbers: &[i64], device: Device) -> Result<Tensor, TchError>;

    /// Begins to copy numbers to the host, which need not wait for later work of the device.
    fn begin_to_host(&self, numbers: &Tensor) -> Result<ToHost, TchError>;

    /// Copies ids to the host, which waits for the device.
    fn ids_to_host(&self, ids: &Tensor) -> Result<Vec<i64>, TchError> {
        Vec::<i64>::try_from(&self.begin_to_host(ids)?.wait()?)
    }

    /// Copies numbers to the host row by row, which waits for the device.
    fn floats_to_host(&self, floats: &Tensor) -> Result<Vec<f32>, TchError> {
        let floats = self.begin_to_host(&floats.f_to_kind(Kind::Float)?)?.wait()?;
        Vec::<f32>::try_from(&floats.f_reshape([-1])?)
    }

    /// Returns whether the host chooses tokens by the logits on `device` where rules change them or one is drawn: a CPU has
    /// nothing to copy.
    fn host_chooses(&self, device: Device) -> bool {
        device == Device::Cpu
    }

    /// Returns the id of the largest logit of each row, `[rows, vocabulary]`, the lowest of equals: `[rows]`, -1 for a row with
    /// a NaN.
    fn best(&self, logits: &Tensor) -> Result<Tensor, TchError>;

    /// Draws a token for each row of `logits`, `[rows, vocabulary]` in f32, by its number in [0, 1): `[rows]`, -1 for a
    /// row that is not a distribution.
    fn draw(&self, logits: &Tensor, warp: Warp, uniforms: &[f64]) -> Result<Tensor, TchError>;

    /// Changes `logits`, `[rows, vocabulary]` in f32, in place. Those at `penalised` places of all rows together, each place
    /// once, are divided by `penalty` if positive and multiplied by it if negative; those at `forbidden` places become
    /// minus infinity.
    fn change(&self, logits: &Tensor, penalised: &[i64], penalty: f32, forbidden: &[i64]) -> Result<(), TchError>;

    /// Returns natural log-probabilities of `targets` under rows of `logits`, `[rows, vocabulary]` in the model's kind, in
    /// f32 and row after row; and then the id of the largest logit of each row, the lowest of equals: one list, in f32.
    fn token_scores(&self, logits: &Tensor, targets: &[&[u32]]) -> Result<Tensor, TchError>;

    /// Returns rows `ids` of `table`, `[ids, width]`.
    fn embed(&self, table: &Tensor, ids: &Tensor) -> Result<Tensor, TchError>;

    /// `x W^T + b`: maps `[rows, in]` by `weight`, `[out, in]`, and `bias`, `[out]`, to `[rows, out]`.
    fn linear(&self, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor, TchError>;

    /// Scales rows, `[..., width]`, to unit root mean square, then by `weight` in this form.
    fn rms_norm(&self, x: &Tensor, weight: &Tensor, eps: f64, form: RmsForm) -> Result<Tensor, TchError>;

    /// Scales rows, `[..., width]`, to mean 0 and variance 1, then by `weight` and `bias`.
    fn layer_norm(&self, x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f64) -> Result<Tensor, TchError>;

    /// Applies a pointwise non-linearity to `[..., width]`.
    fn activate(&self, activation: Activation, x: &Tensor) -> Result<Tensor, TchError>;

    /// `activation(gate) * up`, each `[rows, width]`.
    fn gate(&self, activation: Activation, gate: &Tensor, up: &Tensor) -> Result<Tensor, TchError>;

    /// `a + b`, of one shape.
    fn add(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, TchError>;

    /// `a + b`, and its norm: of rows, `[..., width]`, as [`Kernels::rms_norm`].
    fn add_and_norm(
        &self,
        (a, b): (&Tensor, &Tensor),
        weight: &Tensor,
        eps: f64,
        form: RmsForm,
    ) -> Result<(Tensor, Tensor), TchError> {
        add_then_norm(self, (a, b), weight, eps, form)
    }

    /// Multiplies every element.
    fn scale(&self, x: &Tensor, factor: f64) -> Result<Tensor, TchError>;

    /// Rotates the first entries of each head of `x`, `[rows, heads, head_dim]`, each row by its own position.
    fn rotate(&self, x: &Tensor, rotation: &Rotation) -> Result<Tensor, TchError>;

    /// Multiplies rows, `[rows, width]`, by the sigmoids of `gates`, `[rows, 1]`.
    fn gate_rows(&self, x: &Tensor, gates: &Tensor) -> Result<Tensor, TchError>;

    /// Chooses `top_k` experts of each row by the logits of the gate, `[rows, experts]`; shares are in `kind` unless the rule has
    /// its own.
    fn route(&self, logits: &Tensor, rule: &RoutingRule, top_k: i64, kind: Kind) -> Result<Routes, TchError>;

    /// Sorts the pairs of a row and one of its experts by expert.
    fn sort_pairs(&self, routes: &Routes, experts: i64) -> Result<Pairs, TchError>;

    /// Maps the rows of sorted pairs, `[pairs, in]`, each by the matrix of its expert in `weight`, `[experts, out, in]`, to
    /// `[pairs, out]`.
    fn grouped_linear(&self, x: &Tensor, weight: &Tensor, pairs: &Pairs) -> Result<Tensor, TchError>;

    /// Adds the outputs of sorted pairs, `[pairs, width]`, by their shares to `[rows, width]`; those of a row in the order of its
    /// experts' numbers.
    fn mix(&self, outputs: &Tensor, pairs: &Pairs) -> Result<Tensor, TchError>;

    /// Concatenates parts of heads, `[rows, heads, width]` each, to `[rows, heads, sum of widths]`.
    fn concat(&self, parts: &[&Tensor]) -> Result<Tensor, TchError>;

    /// Writes keys and values, `[rows, kv_heads, head_dim]`, to the rows `places` of a layer. Values may be narrower than
    /// keys; zeros fill the rest.
    fn write(&self, kv: &LayerKv, keys: &Tensor, values: &Tensor, places: &Tensor) -> Result<(), TchError>;

    /// Attends with `queries`, `[rows, heads, head_dim]`, over the keys of one level, by a rule without window and soft
    /// cap: one call for all rows.
    fn attend(&self, queries: &Tensor, kv: &LayerKv, level: &Level, rule: &ScoreRule) -> Result<Part, TchError>;

    /// Merges what rows attended to at different levels, in order, to attention over all of it: `[rows, heads,
    /// head_dim]`.
    fn merge(&self, parts: &[Part]) -> Result<Tensor, TchError>;

    /// Attends with `queries` over all keys that the rows see, by any rule; the layers of a pass share the masks. Returns `[rows, heads,
    /// head_dim]`.
    fn attend_chains(
        &self,
        queries: &Tensor,
        kv: &LayerKv,
        chains: (&[Chain], &Masks),
        rule: &ScoreRule,
    ) -> Result<Tensor, TchError>;
}

/// [`Kernels::add_and_norm`] as the two operations that it is.
pub(super) fn add_then_norm<K: Kernels + ?Sized>(
    kernels: &K,
    (a, b): (&Tensor, &Tensor),
    weight: &Tensor,
    eps: f64,
    form: RmsForm,
) -> Result<(Tensor, Tensor), TchError> {
    let sum = kernels.add(a, b)?;
    let normed = kernels.rms_norm(&sum, weight, eps, form)?;
    Ok((sum, normed))
}
