//! Attention of queries over keys and values: libtorch's fused kernel, in bands for a sliding window, and single
//! operations for a soft cap, which the kernel does not support.

use crate::kernels::{ScoreRule, added_rows};
use crate::reproducible::on_one_thread;
use tch::{Device, Kind, TchError, Tensor};

/// Number of queries that share one mask; bounds the memory of masks and explicit scores.
pub(crate) const BAND: i64 = 1024;

/// Block size of keys in the fused kernel. Keys are left out by whole blocks, so that the remaining blocks are the same
/// as without a window.
const KEY_BLOCK: i64 = 512;

/// Computes attention of `queries`, `[1, heads, rows, head_dim]`, the last rows of `keys` and `values`, `[1, kv_heads,
/// length, head_dim]`. `mask` is [`causal_mask`]'s, for rows that see every key before them; if absent it is computed.
/// Returns `[1, heads, rows, head_dim]`.
pub(crate) fn attend(
    queries: &Tensor,
    keys: &Tensor,
    values: &Tensor,
    mask: Option<&Tensor>,
    rule: &ScoreRule,
) -> Result<Tensor, TchError> {
    let (_, _, rows, head_dim) = queries.size4()?;
    let (_, _, length, _) = keys.size4()?;
    let scale = rule.scale_for(head_dim);
    if rule.softcap.is_none() {
        let seen = rule.window.map_or(length, |window| window.min(length));
        if rows == 1 {
            let (keys, values) = (keys.f_narrow(2, length - seen, seen)?, values.f_narrow(2, length - seen, seen)?);
            return fused(queries, &keys, &values, None, false, scale);
        }
        if rows == length && seen == length {
            return fused(queries, keys, values, None, true, scale);
        }
        if let Some(mask) = mask.filter(|_| seen == length) {
            return fused(queries, keys, values, Some(mask), false, scale);
        }
    }
    let past = length - rows;
    let bands = (0..rows).step_by(BAND as usize).map(|first| {
        let count = BAND.min(rows - first);
        let (from, to) = (past + first, past + first + count);
        let oldest = rule.window.map_or(0, |window| (from - window + 1).max(0)) / KEY_BLOCK * KEY_BLOCK;
        let queries = queries.f_narrow(2, first, count)?;
        let keys = repeated(&keys.f_narrow(2, oldest, to - oldest)?, &queries)?;
        let values = repeated(&values.f_narrow(2, oldest, to - oldest)?, &queries)?;
        let visible = visible(from..to, oldest..to, rule.window, queries.device())?;
        match rule.softcap {
            None => fused(&queries, &keys, &values, Some(&visible), false, scale),
            Some(cap) => capped(&queries, &keys, &values, &visible, scale, cap),
        }
    });
    Tensor::f_cat(&bands.collect::<Result<Vec<_>, TchError>>()?, 2)
}

/// libtorch's own choice of a kernel, of `[batch, heads, rows, head_dim]`.
pub(crate) fn fused(
    queries: &Tensor,
    keys: &Tensor,
    values: &Tensor,
    mask: Option<&Tensor>,
    causal: bool,
    scale: f64,
) -> Result<Tensor, TchError> {
    let grouped = queries.size().get(1) != keys.size().get(1);
    Tensor::f_scaled_dot_product_attention(queries, keys, values, mask, 0.0, causal, scale, grouped)
}

/// transformers' `eager_attention_forward` with a soft cap (Gemma 2).
fn capped(
    queries: &Tensor,
    keys: &Tensor,
    values: &Tensor,
    visible: &Tensor,
    scale: f64,
    cap: f64,
) -> Result<Tensor, TchError> {
    let (_, _, rows, _) = queries.size4()?;
    // Matrix products of few rows use other kernels, as in `Linear`.
    let added = added_rows(rows, queries.device());
    let queries = queries.f_constant_pad_nd([0, 0, 0, added])?;
    let scores = queries.f_matmul(&keys.f_transpose(2, 3)?)?.f_mul_scalar(scale)?.f_div_scalar(cap)?;
    let scores = on_one_thread(scores.numel(), || scores.f_tanh())?.f_mul_scalar(cap)?;
    let hidden = visible.f_constant_pad_nd([0, 0, 0, added])?.f_logical_not()?;
    // The lowest finite number rather than minus infinity: the added rows see nothing, and must not become NaN.
    let scores = scores.f_to_kind(Kind::Float)?.f_masked_fill(&hidden, f64::from(f32::MIN))?;
    let weights = scores.f_softmax(-1, Kind::Float)?.f_to_kind(queries.kind())?;
    weights.f_matmul(values)?.f_narrow(2, 0, rows)
}

/// Repeats keys or values of each group for each of its query heads.
pub(crate) fn repeated(x: &Tensor, queries: &Tensor) -> Result<Tensor, TchError> {
    let (_, heads, _, _) = queries.size4()?;
    let (_, kv_heads, length, width) = x.size4()?;
    if heads == kv_heads {
        return Ok(x.shallow_clone());
    }
    let groups = heads / kv_heads;
    x.f_unsqueeze(2)?.f_expand([1, kv_heads, groups, length, width], false)?.f_reshape([1, heads, length, width])
}

/// Returns a mask, `[rows, length]`: zeros, and minus infinity for keys that the last `rows` of `length` positions
/// cannot see.
pub(crate) fn causal_mask(rows: i64, length: i64, options: (Kind, Device)) -> Result<Tensor, TchError> {
    Tensor::f_full([rows, length], f64::NEG_INFINITY, options)?.f_triu(length - rows + 1)
}

/// Returns which of the keys at positions `seen` each query at positions `asking` can see: `[queries, keys]` of
/// booleans.
fn visible(
    asking: std::ops::Range<i64>,
    seen: std::ops::Range<i64>,
    window: Option<i64>,
    device: Device,
) -> Result<Tensor, TchError> {
    let positions = |range: std::ops::Range<i64>| Tensor::f_arange_start(range.start, range.end, (Kind::Int64, device));
    let (asking, seen) = (positions(asking)?.f_unsqueeze(1)?, positions(seen)?.f_unsqueeze(0)?);
    let causal = seen.f_le_tensor(&asking)?;
    match window {
        None => Ok(causal),
        Some(window) => causal.f_logical_and(&seen.f_gt_tensor(&asking.f_sub_scalar(window)?)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Softmax over visible keys, written out in f64.
    fn by_hand(queries: &Tensor, keys: &Tensor, values: &Tensor, rule: &ScoreRule) -> Tensor {
        let wide = |x: &Tensor| x.to_kind(Kind::Double);
        let (_, _, rows, head_dim) = queries.size4().unwrap();
        let (_, _, length, _) = keys.size4().unwrap();
        let (keys, values) = (wide(&repeated(keys, queries).unwrap()), wide(&repeated(values, queries).unwrap()));
        let mut scores = wide(queries).matmul(&keys.transpose(2, 3)) * (head_dim as f64).powf(-0.5);
        if let Some(cap) = rule.softcap {
            scores = (scores / cap).tanh() * cap;
        }
        let visible = visible(length - rows..length, 0..length, rule.window, Device::Cpu).unwrap();
        scores.masked_fill(&visible.logical_not(), f64::NEG_INFINITY).softmax(-1, Kind::Double).matmul(&values)
    }

    #[test]
    fn every_path_is_the_softmax_over_visible_keys() {
        assert_eq!(crate::reproducible::make_mkl_reproducible(), None);
        tch::manual_seed(7);
        let random = |heads, rows| Tensor::randn([1, heads, rows, 8], (Kind::Float, Device::Cpu));
        for (length, rows) in [(1, 1), (40, 40), (40, 1), (40, 7), (1500, 1500), (1500, 1030)] {
            let (queries, keys, values) = (random(4, rows), random(2, length), random(2, length));
            for window in [None, Some(1), Some(13), Some(40), Some(900)] {
                for softcap in [None, Some(1.5)] {
                    let rule = ScoreRule { scale: None, window, softcap };
                    let mask = causal_mask(rows, length, (Kind::Float, Device::Cpu)).unwrap();
                    for mask in [None, Some(&mask)] {
                        let got = attend(&queries, &keys, &values, mask, &rule).unwrap().to_kind(Kind::Double);
                        let off = (got - by_hand(&queries, &keys, &values, &rule)).abs().max().double_value(&[]);
                        assert!(off < 2e-6, "{rows} of {length}, {rule:?}: {off}");
                    }
                }
            }
        }
    }
}
