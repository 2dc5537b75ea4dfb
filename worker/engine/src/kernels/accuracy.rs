//! Differences of operations from their formulas: checked before a kernel is used, and by `gpu-check`.

use super::{Kernels, Part, Warp};
use crate::executor::{Draw, choose};
use crate::kernels::{RmsForm, ScoreRule};
use crate::kv::{Arena, ExtentId, Segment, chains, levels};
use std::time::Instant;
use tch::{Device, Kind, TchError, Tensor};

/// Largest error of attention in a number format, for queries, keys and values of unit variance.
pub(crate) fn attention_tolerance(kind: Kind) -> f64 {
    if kind == Kind::Float { 1e-5 } else { 2e-2 }
}

/// Returns the largest error of attention by levels, merged, from the formula in f32: on a few short sequences, one of
/// them decoded, that share their beginning. `NaN` where an output is `NaN`.
pub(crate) fn attention_error(
    kernels: &dyn Kernels,
    (heads, kv_heads, head_dim): (i64, i64, i64),
    (kind, device): (Kind, Device),
) -> Result<f64, TchError> {
    let mut arena = Arena::new(&[device], 128, (kv_heads, head_dim), kind)?;
    for tensor in [&arena.layer(0).keys, &arena.layer(0).values] {
        let _ = tensor.shallow_clone().f_normal_(0.0, 1.0)?;
    }
    let mut extent = |tokens: usize| -> Result<ExtentId, TchError> {
        let none = || TchError::Torch("the arena has no room".into());
        let extent = arena.allocate(tokens).ok_or_else(none)?;
        arena.note(extent, 0, &vec![0; tokens], false);
        Ok(extent)
    };
    let (header, left, right) = (extent(70)?, extent(20)?, extent(9)?);
    let segment = |own, before, rows, decodes| Segment {
        path: [header].into(),
        own,
        before,
        position: 70 + before,
        rows,
        decodes,
    };
    let segments = [segment(left, 19, 1, true), segment(right, 0, 9, false), Segment::alone(header, 60, 10)];
    let rows = segments.iter().map(|segment| segment.rows as i64).sum::<i64>();
    let queries = Tensor::f_randn([rows, heads, head_dim], (Kind::Float, device))?.f_to_kind(kind)?;
    let rule = ScoreRule::default();
    let parts = levels(&segments, &arena);
    let parts = parts.iter().map(|level| kernels.attend(&queries, arena.layer(0), level, &rule));
    let got = kernels.merge(&parts.collect::<Result<Vec<Part>, TchError>>()?)?.f_to_kind(Kind::Float)?;
    let mut most = 0.0f64;
    for chain in chains(&segments, &arena) {
        let whole = |of: &Tensor| -> Result<Tensor, TchError> {
            let runs = chain.runs.iter().map(|&(start, tokens)| of.f_narrow(0, start, tokens));
            let all = Tensor::f_cat(&runs.collect::<Result<Vec<_>, _>>()?, 0)?.f_to_kind(Kind::Float)?;
            all.f_repeat_interleave_self_int(heads / kv_heads, 1, None)?.f_transpose(0, 1)
        };
        let (keys, values) = (whole(&arena.layer(0).keys)?, whole(&arena.layer(0).values)?);
        let own = queries.f_narrow(0, chain.first, chain.rows)?.f_to_kind(Kind::Float)?.f_transpose(0, 1)?;
        let scores = own.f_matmul(&keys.f_transpose(1, 2)?)?.f_mul_scalar(rule.scale_for(head_dim))?;
        let length = keys.size()[1];
        let later = Tensor::f_ones([chain.rows, length], (Kind::Bool, device))?.f_triu(length - chain.rows + 1)?;
        let weights = scores.f_masked_fill(&later, f64::NEG_INFINITY)?.f_softmax(-1, Kind::Float)?;
        let expected = weights.f_matmul(&values)?.f_transpose(0, 1)?;
        let off = got.f_narrow(0, chain.first, chain.rows)?.f_sub(&expected)?.f_abs()?.f_max()?;
        let off = f64::try_from(&off.f_to_kind(Kind::Double)?)?;
        most = if off.is_nan() { off } else { most.max(off) };
        if most.is_nan() {
            break;
        }
    }
    Ok(most)
}

/// Returns the largest error of a norm in `kind`, relative to the largest output of the formula in f32.
pub(crate) fn norm_error(kernels: &dyn Kernels, width: i64, (kind, device): (Kind, Device)) -> Result<f64, TchError> {
    let x = Tensor::f_randn([64, width], (Kind::Float, device))?.f_to_kind(kind)?;
    let weight = Tensor::f_randn([width], (Kind::Float, device))?.f_to_kind(kind)?;
    let got = kernels.rms_norm(&x, &weight, 1e-5, RmsForm::BeforeCast)?.f_to_kind(Kind::Float)?;
    let wide = x.f_to_kind(Kind::Double)?;
    let mean = wide.f_square()?.f_mean_dim([-1i64].as_slice(), true, Kind::Double)?;
    let expected = wide.f_mul(&mean.f_add_scalar(1e-5)?.f_rsqrt()?)?.f_mul(&weight.f_to_kind(Kind::Double)?)?;
    let off = got.f_to_kind(Kind::Double)?.f_sub(&expected)?.f_abs()?.f_max()?;
    Ok(f64::try_from(&off)? / f64::try_from(&expected.f_abs()?.f_max()?)?)
}

/// Returns how many of `rows` draws on the device are not the host's.
pub(crate) fn different_draws(
    kernels: &dyn Kernels,
    (rows, vocabulary): (i64, i64),
    warp: Warp,
    device: Device,
) -> Result<usize, TchError> {
    let logits = Tensor::f_randn([rows, vocabulary], (Kind::Float, device))?.f_mul_scalar(3.0)?;
    let of = |row: i64| (Draw { seed: 3, sample: row as u32, sequence: 1 }, row as usize % 9);
    let uniforms: Vec<f64> = (0..rows).map(of).map(|(draw, step)| draw.at(step)).collect();
    let drawn = kernels.ids_to_host(&kernels.draw(&logits, warp, &uniforms)?)?;
    let mut different = 0;
    for (row, &token) in (0..rows).zip(&drawn) {
        let mut host = kernels.floats_to_host(&logits.f_narrow(0, row, 1)?)?;
        warp.apply(&mut host);
        different += usize::from(choose(&host, Some(of(row))).map(i64::from) != Some(token));
    }
    Ok(different)
}

/// Returns the seconds that `rows` draws take on the device, the mean of a few times.
pub(crate) fn draw_seconds(
    kernels: &dyn Kernels,
    (rows, vocabulary): (i64, i64),
    warp: Warp,
    device: Device,
) -> Result<f64, TchError> {
    const TIMES: u32 = 5;
    let logits = Tensor::f_randn([rows, vocabulary], (Kind::Float, device))?.f_mul_scalar(3.0)?;
    let uniforms: Vec<f64> = (0..rows).map(|row| (row as f64 * 0.618).fract()).collect();
    let draw = || kernels.ids_to_host(&kernels.draw(&logits, warp, &uniforms)?);
    draw()?;
    let start = Instant::now();
    for _ in 0..TIMES {
        draw()?;
    }
    Ok((start.elapsed() / TIMES).as_secs_f64())
}
