//! The kernels beside their twins: their differences, on random numbers.

use super::Fused;
use crate::blocks::Activation;
use crate::kernels::{Kernels, Part, RmsForm, Rotation, Warp};
use crate::kv::LayerKv;
use tch::{Device, Kind, TchError, Tensor};

/// A kernel beside its twin.
pub(crate) struct Difference {
    pub(crate) name: &'static str,
    /// Largest difference relative to the largest result; infinity where there is no kernel.
    pub(crate) off: f64,
    /// Largest difference that passes: 0 where both round alike.
    pub(crate) most: f64,
    pub(crate) is_good: bool,
}

/// A step of bfloat16, relative to a number.
const STEP: f64 = 1.0 / 128.0;

/// Rows, heads, key-value heads, width of a head, width of a row, vocabulary: usual ones, a single row, and odd ones.
const SHAPES: [(i64, i64, i64, i64, i64, i64); 4] = [
    (37, 8, 2, 128, 4096, 1003),
    (1, 4, 4, 64, 64, 50),
    (300, 3, 1, 32, 1544, 32_001),
    (5, 16, 8, 256, 14_336, 128_256),
];

/// Draws by every rule.
const WARPS: [Warp; 3] = [
    Warp { temperature: 0.7, top_k: 0, top_p: 1.0 },
    Warp { temperature: 1.0, top_k: 20, top_p: 0.9 },
    Warp { temperature: 1.3, top_k: 0, top_p: 0.95 },
];

/// Compares every kernel with what `twin` computes on the same device.
pub(crate) fn different_from_twins(
    fused: &Fused,
    twin: &dyn Kernels,
    device: Device,
) -> Result<Vec<Difference>, TchError> {
    let mut found: Vec<Difference> = Vec::new();
    let mut note = |name: &'static str, most: f64, got: Option<Tensor>, wanted: &Tensor| -> Result<(), TchError> {
        let off = match &got {
            Some(got) => distance(got, wanted)?,
            None => f64::INFINITY,
        };
        match found.iter_mut().find(|one| one.name == name) {
            Some(one) => one.off = if off.is_nan() { off } else { one.off.max(off) },
            None => found.push(Difference { name, off, most, is_good: false }),
        }
        Ok(())
    };
    for (rows, heads, kv_heads, dim, width, vocabulary) in SHAPES {
        let random = |size: &[i64]| Tensor::f_randn(size, (Kind::Float, device))?.f_to_kind(Kind::BFloat16);
        let (x, added, weight) = (random(&[rows, width])?, random(&[rows, width])?, random(&[width])?);
        for form in [RmsForm::AfterCast, RmsForm::BeforeCast, RmsForm::FromOne] {
            let wanted = twin.rms_norm(&x, &weight, 1e-5, form)?;
            let got = fused.rms_norm(&x, None, &weight, (1e-5, form))?;
            note("RMS norm", STEP, got.map(|(_, out)| out), &wanted)?;
            let sum = twin.add(&x, &added)?;
            let wanted = twin.rms_norm(&sum, &weight, 1e-5, form)?;
            let (got_sum, got) = fused.rms_norm(&x, Some(&added), &weight, (1e-5, form))?.unzip();
            note("sum before a norm", 0.0, got_sum.flatten(), &sum)?;
            note("RMS norm of a sum", STEP, got, &wanted)?;
        }
        let both = random(&[rows, 2 * width])?.f_mul_scalar(3.0)?;
        let (gate, up) = (both.f_narrow(1, 0, width)?, both.f_narrow(1, width, width)?);
        note("gate by SiLU", 0.0, fused.silu_gate(&gate, &up)?, &twin.gate(Activation::Silu, &gate, &up)?)?;
        let all = random(&[rows, heads + 2 * kv_heads, dim])?;
        let angles = Tensor::f_rand([rows, dim], (Kind::Float, device))?.f_mul_scalar(6.3)?;
        let table = |x: Tensor| x.f_to_kind(Kind::BFloat16);
        let rotation = Rotation::halves(table(angles.f_cos()?)?, table(angles.f_sin()?)?);
        let turning = all.f_narrow(1, 0, heads + kv_heads)?;
        note("rotation", 0.0, fused.rotate(&turning, &rotation)?, &twin.rotate(&turning, &rotation)?)?;
        let arena = || Tensor::f_zeros([2 * rows + 1, kv_heads, dim], (Kind::BFloat16, device));
        let (ours, theirs) =
            (LayerKv { keys: arena()?, values: arena()? }, LayerKv { keys: arena()?, values: arena()? });
        let (keys, values) = (all.f_narrow(1, heads, kv_heads)?, all.f_narrow(1, heads + kv_heads, kv_heads)?);
        let places = Tensor::f_randperm(2 * rows, (Kind::Int64, device))?.f_narrow(0, 0, rows)?;
        let written = fused.write(&ours, &keys, &values, &places)?;
        twin.write(&theirs, &keys, &values, &places)?;
        let whole = |kv: &LayerKv| Tensor::f_cat(&[&kv.keys, &kv.values], 0);
        note("keys and values written", 0.0, written.map(|()| whole(&ours)).transpose()?, &whole(&theirs)?)?;
        let part = |shift: f64| -> Result<Part, TchError> {
            let sums = Tensor::f_randn([heads, rows], (Kind::Float, device))?.f_add_scalar(shift)?;
            Ok(Part { out: random(&[rows, heads, dim])?, log_sum: sums.f_transpose(0, 1)? })
        };
        let parts = [part(3.0)?, part(0.0)?, part(1.0)?];
        // A row that sees nothing at a level.
        let _ = parts[0].log_sum.f_narrow(0, 0, 1)?.f_fill_(f64::NEG_INFINITY)?;
        note("merge", STEP, fused.merge(&parts)?, &twin.merge(&parts)?)?;
        let logits = random(&[rows, vocabulary])?.f_mul_scalar(4.0)?;
        let targets: Vec<Vec<u32>> = (0..rows)
            .map(|row| (0..row % 3).map(|at| ((row * 7919 + at * 31) % vocabulary) as u32).collect())
            .collect();
        let targets: Vec<&[u32]> = targets.iter().map(Vec::as_slice).collect();
        let wanted = twin.token_scores(&logits, &targets)?;
        let count = wanted.size1()? - rows;
        let (ids, first) = lists(&targets);
        let lists =
            (&Tensor::f_from_slice(&ids)?.f_to_device(device)?, &Tensor::f_from_slice(&first)?.f_to_device(device)?);
        let got = fused.token_scores(&logits, lists)?;
        let part = |x: &Tensor, first: i64, count: i64| x.f_narrow(0, first, count);
        if count > 0 {
            let of = got.as_ref().map(|got| part(got, 0, count)).transpose()?;
            note("log-probabilities", 1e-6, of, &part(&wanted, 0, count)?)?;
        }
        let of = got.as_ref().map(|got| part(got, count, rows)).transpose()?;
        note("most probable tokens", 0.0, of, &part(&wanted, count, rows)?)?;
        // Ties, forbidden tokens, and a row without a token.
        let logits = random(&[rows, vocabulary])?.f_to_kind(Kind::Float)?;
        let _ = logits.f_narrow(1, vocabulary / 2, 3)?.f_fill_(f64::NEG_INFINITY)?;
        let _ = logits.f_narrow(0, rows - 1, 1)?.f_narrow(1, 0, 1)?.f_fill_(f64::NAN)?;
        let uniforms: Vec<f64> = (0..rows).map(|row| (row as f64 * 0.618).fract()).collect();
        for warp in WARPS {
            let drawn = fused.draw(&logits, warp, &Tensor::f_from_slice(&uniforms)?.f_to_device(device)?)?;
            note("draws", 0.0, drawn, &twin.draw(&logits, warp, &uniforms)?)?;
        }
    }
    for one in &mut found {
        one.is_good = one.off <= one.most;
    }
    Ok(found)
}

/// Returns tokens row after row, and where each row's begin, with their number in the end.
pub(in crate::kernels) fn lists(targets: &[&[u32]]) -> (Vec<i64>, Vec<i64>) {
    let ids = targets.iter().flat_map(|tokens| tokens.iter().map(|&token| i64::from(token))).collect();
    let mut end = 0;
    let ends = targets.iter().map(|tokens| {
        end += tokens.len() as i64;
        end
    });
    (ids, std::iter::once(0).chain(ends).collect())
}

/// Largest difference, relative to the largest number wanted.
fn distance(got: &Tensor, wanted: &Tensor) -> Result<f64, TchError> {
    if wanted.numel() == 0 {
        return Ok(0.0);
    }
    let (got, wanted) = (got.f_to_kind(Kind::Double)?, wanted.f_to_kind(Kind::Double)?);
    let off = f64::try_from(&got.f_sub(&wanted)?.f_abs()?.f_max()?)?;
    Ok(off / f64::try_from(&wanted.f_abs()?.f_max()?)?.max(1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_say_where_rows_begin() {
        assert_eq!(lists(&[&[5, 6], &[], &[7]]), (vec![5, 6, 7], vec![0, 2, 2, 3]));
        assert_eq!(lists(&[]), (vec![], vec![0]));
    }

    #[test]
    fn distances_are_relative_to_the_largest() {
        let (one, other) = (Tensor::from_slice(&[1.0f32, -4.0]), Tensor::from_slice(&[1.0f32, -5.0]));
        assert_eq!(distance(&one, &other).unwrap(), 0.2);
        assert!(distance(&Tensor::from_slice(&[f32::NAN]), &Tensor::from_slice(&[1.0f32])).unwrap().is_nan());
    }

    #[test]
    fn without_a_gpu_there_is_no_kernel() {
        assert_eq!(Fused::new(Device::Cpu).err().as_deref(), Some("there is no GPU"));
    }
}
