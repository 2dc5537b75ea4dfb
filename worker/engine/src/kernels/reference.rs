//! The operations as libtorch's own, in the order in which transformers computes them, so that numbers are bit-equal
//! to its sdpa path.

use super::cascade::{attend_level, heads_first, merge};
use super::draw::draw;
use super::experts::{grouped_linear, mix, sort_pairs};
use super::{Kernels, Pairs, Part, ToHost, Warp, added_rows};
use crate::blocks::{Activation, BAND, attend, causal_mask};
use crate::kernels::{RmsForm, Rotation, Routes, RoutingRule, ScoreRule};
use crate::kv::{Chain, LayerKv, Level, Masks};
use crate::reproducible::{alone_if_narrow, in_whole_vectors};
use tch::{Device, Kind, TchError, Tensor};

/// Every operation by libtorch's own, on whatever device the tensors are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference;

impl Kernels for Reference {
    fn to_device(&self, numbers: &[i64], device: Device) -> Result<Tensor, TchError> {
        Tensor::f_from_slice(numbers)?.f_to_device(device)
    }

    fn begin_to_host(&self, numbers: &Tensor) -> Result<ToHost, TchError> {
        ToHost::begin(numbers)
    }

    fn best(&self, logits: &Tensor) -> Result<Tensor, TchError> {
        let best = logits.f_argmax(-1, true)?;
        // A NaN counts as the largest.
        let largest = logits.f_gather(-1, &best, false)?;
        best.f_masked_fill(&largest.f_isnan()?, -1)?.f_squeeze_dim(-1)
    }

    fn draw(&self, logits: &Tensor, warp: Warp, uniforms: &[f64]) -> Result<Tensor, TchError> {
        draw(logits, &warp, &Tensor::f_from_slice(uniforms)?.f_to_device(logits.device())?)
    }

    fn change(&self, logits: &Tensor, penalised: &[i64], penalty: f32, forbidden: &[i64]) -> Result<(), TchError> {
        change(self, logits, (penalised, penalty), forbidden)
    }

    fn token_scores(&self, logits: &Tensor, targets: &[&[u32]]) -> Result<Tensor, TchError> {
        let (_, vocabulary) = logits.size2()?;
        let log_probs = logits.f_to_kind(Kind::Float)?.f_log_softmax(-1, Kind::Float)?;
        let rows = targets.iter().enumerate();
        let places = rows.flat_map(|(row, ids)| ids.iter().map(move |&id| row as i64 * vocabulary + i64::from(id)));
        let places = self.to_device(&places.collect::<Vec<_>>(), logits.device())?;
        let taken = log_probs.f_reshape([-1])?.f_index_select(0, &places)?;
        // f32 holds every id of a vocabulary below 2^24.
        Tensor::f_cat(&[taken, self.best(&log_probs)?.f_to_kind(Kind::Float)?], 0)
    }

    fn embed(&self, table: &Tensor, ids: &Tensor) -> Result<Tensor, TchError> {
        Tensor::f_embedding(table, ids, -1, false, false)
    }

    fn linear(&self, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor, TchError> {
        let rows = x.size().first().copied().unwrap_or(0);
        let (columns, _) = weight.size2()?;
        // A single column would be a product with a vector, whose rows do depend on their number.
        let twice = if columns == 1 { Some(weight.f_expand([2, -1], false)?) } else { None };
        let weight = twice.as_ref().unwrap_or(weight);
        let product = |x: &Tensor| alone_if_narrow(columns, || x.f_linear(weight, bias))?.f_narrow(1, 0, columns);
        match added_rows(rows, x.device()) {
            0 => product(x),
            added => product(&x.f_constant_pad_nd([0, 0, 0, added])?)?.f_narrow(0, 0, rows),
        }
    }

    /// In f32 with a cast before or after the weight: the fused operation differs in bf16.
    fn rms_norm(&self, x: &Tensor, weight: &Tensor, eps: f64, form: RmsForm) -> Result<Tensor, TchError> {
        let wide = x.f_to_kind(Kind::Float)?;
        let variance = wide.f_pow_tensor_scalar(2)?.f_mean_dim([-1i64].as_slice(), true, None)?;
        let scaled = wide.f_mul(&variance.f_add_scalar(eps)?.f_rsqrt()?)?;
        match form {
            RmsForm::AfterCast => weight.f_mul(&scaled.f_to_kind(x.kind())?),
            RmsForm::BeforeCast => weight.f_to_kind(Kind::Float)?.f_mul(&scaled)?.f_to_kind(x.kind()),
            RmsForm::FromOne => scaled.f_mul(&weight.f_to_kind(Kind::Float)?.f_add_scalar(1.0)?)?.f_to_kind(x.kind()),
        }
    }

    fn layer_norm(&self, x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f64) -> Result<Tensor, TchError> {
        x.f_layer_norm(weight.size(), Some(weight), Some(bias), eps, true)
    }

    fn activate(&self, activation: Activation, x: &Tensor) -> Result<Tensor, TchError> {
        activation.of(x)
    }

    fn gate(&self, activation: Activation, gate: &Tensor, up: &Tensor) -> Result<Tensor, TchError> {
        activation.of(gate)?.f_mul(up)
    }

    fn add(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, TchError> {
        a.f_add(b)
    }

    fn scale(&self, x: &Tensor, factor: f64) -> Result<Tensor, TchError> {
        x.f_mul_scalar(factor)
    }

    fn rotate(&self, x: &Tensor, rotation: &Rotation) -> Result<Tensor, TchError> {
        rotation.apply(x)
    }

    fn gate_rows(&self, x: &Tensor, gates: &Tensor) -> Result<Tensor, TchError> {
        in_whole_vectors(gates, Tensor::f_sigmoid)?.f_mul(x)
    }

    fn route(&self, logits: &Tensor, rule: &RoutingRule, top_k: i64, kind: Kind) -> Result<Routes, TchError> {
        rule.choose(logits, top_k, kind)
    }

    fn sort_pairs(&self, routes: &Routes, experts: i64) -> Result<Pairs, TchError> {
        sort_pairs(routes, experts)
    }

    fn grouped_linear(&self, x: &Tensor, weight: &Tensor, pairs: &Pairs) -> Result<Tensor, TchError> {
        grouped_linear(x, weight, pairs)
    }

    fn mix(&self, outputs: &Tensor, pairs: &Pairs) -> Result<Tensor, TchError> {
        mix(outputs, pairs)
    }

    fn concat(&self, parts: &[&Tensor]) -> Result<Tensor, TchError> {
        Tensor::f_cat(parts, -1)
    }

    fn write(&self, kv: &LayerKv, keys: &Tensor, values: &Tensor, places: &Tensor) -> Result<(), TchError> {
        let width = |x: &Tensor| x.size().last().copied().unwrap_or(0);
        let missing = width(keys) - width(values);
        let filled = if missing > 0 { Some(values.f_constant_pad_nd([0, missing])?) } else { None };
        for (to, rows) in [(&kv.keys, keys), (&kv.values, filled.as_ref().unwrap_or(values))] {
            let _ = to.shallow_clone().f_index_copy_(0, places, rows)?;
        }
        Ok(())
    }

    fn attend(&self, queries: &Tensor, kv: &LayerKv, level: &Level, rule: &ScoreRule) -> Result<Part, TchError> {
        attend_level(queries, kv, level, rule)
    }

    fn merge(&self, parts: &[Part]) -> Result<Tensor, TchError> {
        merge(parts)
    }

    fn attend_chains(
        &self,
        queries: &Tensor,
        kv: &LayerKv,
        (chains, masks): (&[Chain], &Masks),
        rule: &ScoreRule,
    ) -> Result<Tensor, TchError> {
        let mut mixed = Vec::with_capacity(chains.len() + 1);
        let mut at = 0;
        for Chain { first, rows, runs } in chains {
            let own = heads_first(&queries.f_narrow(0, *first, *rows)?)?;
            let whole = |of: &Tensor| {
                let runs = runs.iter().map(|&(start, tokens)| of.f_narrow(0, start, tokens));
                heads_first(&Tensor::f_cat(&runs.collect::<Result<Vec<_>, _>>()?, 0)?)
            };
            let (keys, values) = (whole(&kv.keys)?, whole(&kv.values)?);
            let (_, _, length, _) = keys.size4()?;
            let masked = *rows > 1 && *rows < length && *rows <= BAND;
            let make = || causal_mask(*rows, length, (own.kind(), own.device()));
            let mask = if masked { Some(masks.get((*rows, length), make)?) } else { None };
            let out = attend(&own, &keys, &values, mask.as_ref(), rule)?;
            mixed.push(out.f_transpose(1, 2)?.f_squeeze_dim(0)?);
            at = first + rows;
        }
        let (rows, heads, head_dim) = queries.size3()?;
        if rows > at {
            mixed.push(Tensor::f_zeros([rows - at, heads, head_dim], (queries.kind(), queries.device()))?);
        }
        Tensor::f_cat(&mixed, 0)
    }
}

/// Changes logits in place by single operations: [`Kernels::change`], with the places where `kernels` have them.
pub(super) fn change(
    kernels: &dyn Kernels,
    logits: &Tensor,
    (penalised, penalty): (&[i64], f32),
    forbidden: &[i64],
) -> Result<(), TchError> {
    let flat = logits.f_view([-1])?;
    if !penalised.is_empty() {
        let places = kernels.to_device(penalised, logits.device())?;
        let found = flat.f_index_select(0, &places)?;
        // A scalar divisor may be multiplied by its reciprocal, which rounds otherwise.
        let penalty = Tensor::f_full([1i64], f64::from(penalty), (Kind::Float, logits.device()))?;
        let changed = found.f_mul(&penalty)?.f_where_self(&found.f_lt(0.0)?, &found.f_div(&penalty)?)?;
        let _ = flat.shallow_clone().f_index_copy_(0, &places, &changed)?;
    }
    if !forbidden.is_empty() {
        let places = kernels.to_device(forbidden, logits.device())?;
        let _ = flat.shallow_clone().f_index_fill_(0, &places, f64::NEG_INFINITY)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_what_is_no_number_is_none() {
        let rows = [[0.5, 2.0, 2.0], [f32::NAN, 1.0, 0.0], [3.0, f32::NAN, f32::NAN], [f32::NEG_INFINITY; 3]];
        for kind in [Kind::Float, Kind::BFloat16] {
            let best = Reference.best(&Tensor::from_slice2(&rows).to_kind(kind)).unwrap();
            assert_eq!(Vec::<i64>::try_from(&best).unwrap(), [1, -1, -1, 0]);
        }
    }

    #[test]
    fn rows_of_products_are_batch_invariant() {
        assert_eq!(crate::reproducible::make_mkl_reproducible(), None);
        tch::manual_seed(7);
        for (inner, outer) in [(64, 172), (172, 64), (128, 512), (96, 100), (64, 20), (32, 1)] {
            let weight = Tensor::randn([outer, inner], (Kind::Float, Device::Cpu));
            let x = Tensor::randn([100, inner], (Kind::Float, Device::Cpu));
            let all = Reference.linear(&x, &weight, None).unwrap();
            for rows in [1, 2, 3, 7, 15, 16, 17, 40, 99] {
                let some = Reference.linear(&x.narrow(0, 0, rows), &weight, None).unwrap();
                assert_eq!(some.size(), [rows, outer]);
                assert!(some.equal(&all.narrow(0, 0, rows)), "{rows} rows of {inner} -> {outer}");
            }
        }
    }
}
