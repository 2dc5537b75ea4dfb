//! Frequencies of the rotary embedding, with the scalings that transformers calls `linear`, `dynamic`, `llama3`, `yarn`
//! and `longrope`.
//!
//! Computed in f32 in transformers' order of operations: f64 would be more precise, but other bits.

use crate::config::{RopeConfig, RopeScaling, Yarn};
use tch::{Device, Kind, TchError, Tensor};

/// Regime of frequencies of one model; most models have one for every length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Regime {
    /// One set of frequencies for every length, or a length without scaling.
    Plain,
    /// `dynamic`: scaled for a sequence of this many tokens.
    Length(i64),
    /// `longrope` beyond the length of the model's first training.
    Long,
}

/// Returns the regime of a sequence of `length` tokens.
pub(super) fn regime(config: &RopeConfig, length: i64) -> Regime {
    match config.scaling {
        RopeScaling::Dynamic { max_positions, .. } if length > max_positions => Regime::Length(length),
        RopeScaling::LongRope { original_positions, .. } if length > original_positions => Regime::Long,
        _ => Regime::Plain,
    }
}

/// Returns the factor of cosines and sines.
pub(super) fn attention_factor(config: &RopeConfig) -> f64 {
    match config.scaling {
        RopeScaling::Yarn(Yarn { attention_factor, .. }) | RopeScaling::LongRope { attention_factor, .. } => {
            attention_factor
        }
        _ => 1.0,
    }
}

/// Returns `1 / theta^(2i / dim)`, scaled; `[dim / 2]` in f32 on the CPU.
pub(super) fn inverse_frequencies(config: &RopeConfig, regime: Regime) -> Result<Tensor, TchError> {
    let exponent = exponents(config.dim)?;
    let plain = || Tensor::f_pow_scalar(config.theta, &exponent)?.f_reciprocal();
    match &config.scaling {
        RopeScaling::Default => plain(),
        RopeScaling::Linear { factor } => plain()?.f_div_scalar(*factor),
        RopeScaling::Dynamic { factor, max_positions } => match regime {
            Regime::Length(length) => {
                let stretch = Tensor::f_from_slice(&[length])?
                    .f_mul_scalar(*factor)?
                    .f_div_scalar(*max_positions)?
                    .f_sub_scalar(factor - 1.0)?
                    .f_pow_tensor_scalar(config.dim as f64 / (config.dim - 2) as f64)?;
                stretch.f_mul_scalar(config.theta)?.f_pow(&exponent)?.f_reciprocal()
            }
            Regime::Plain | Regime::Long => plain(),
        },
        RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
            let plain = Vec::<f32>::try_from(&plain()?)?;
            let stretched = plain.iter().map(|&frequency| {
                llama3(frequency, *factor, *low_freq_factor, *high_freq_factor, *original_max_position_embeddings)
            });
            Tensor::f_from_slice(&stretched.collect::<Vec<f32>>())
        }
        RopeScaling::Yarn(yarn) => yarn_frequencies(config, yarn, &exponent),
        RopeScaling::LongRope { short, long, .. } => {
            let divisors = if regime == Regime::Long { long } else { short };
            Tensor::f_from_slice(divisors)?.f_mul(&Tensor::f_pow_scalar(config.theta, &exponent)?)?.f_reciprocal()
        }
    }
}

/// Returns `2i / dim`, `[dim / 2]`.
fn exponents(dim: i64) -> Result<Tensor, TchError> {
    Tensor::f_arange_start_step(0, dim, 2, (Kind::Float, Device::Cpu))?.f_div_scalar(dim)
}

/// transformers' `_compute_yarn_parameters`: high frequencies stay, low ones are scaled, those between are blended.
fn yarn_frequencies(config: &RopeConfig, yarn: &Yarn, exponent: &Tensor) -> Result<Tensor, TchError> {
    let dim = config.dim as f64;
    let wave = Tensor::f_pow_scalar(config.theta, exponent)?;
    let stretched = wave.f_mul_scalar(yarn.factor)?.f_reciprocal()?;
    // Index of the frequency that turns this many times within the original context.
    let index = |turns: f64| {
        let turned = yarn.original_max_position_embeddings / (turns * 2.0 * std::f64::consts::PI);
        (dim * turned.ln()) / (2.0 * config.theta.ln())
    };
    let (low, high) = (index(yarn.beta_fast), index(yarn.beta_slow));
    let (low, high) = if yarn.truncate { (low.floor(), high.ceil()) } else { (low, high) };
    let (low, high) = (low.max(0.0), high.min(dim - 1.0));
    let width = if low == high { 0.001 } else { high - low };
    let ramp = Tensor::f_arange(config.dim / 2, (Kind::Float, Device::Cpu))?;
    let ramp = ramp.f_sub_scalar(low)?.f_div_scalar(width)?.f_clamp(0.0, 1.0)?;
    let kept = ramp.f_neg()?.f_add_scalar(1.0)?;
    let blended = stretched.f_mul(&kept.f_neg()?.f_add_scalar(1.0)?)?;
    blended.f_add(&wave.f_reciprocal()?.f_mul(&kept)?)
}

/// transformers' `_compute_llama3_parameters` for one frequency: low frequencies are scaled, high ones stay, those
/// between are blended. Tensor by scalar is f32 there, scalar by scalar is f64.
fn llama3(frequency: f32, factor: f64, low: f64, high: f64, context: f64) -> f32 {
    let wavelength = (1.0 / frequency) * (2.0 * std::f64::consts::PI) as f32;
    let stretched = frequency / factor as f32;
    if wavelength > (context / low) as f32 {
        stretched
    } else if wavelength < (context / high) as f32 {
        frequency
    } else {
        let smooth = ((1.0 / wavelength) * context as f32 - low as f32) / (high - low) as f32;
        (1.0 - smooth) * frequency / factor as f32 + smooth * frequency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_of_llama_3() {
        assert_eq!(crate::reproducible::make_mkl_reproducible(), None);
        let scaling = RopeScaling::Llama3 {
            factor: 8.0,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_max_position_embeddings: 8192.0,
        };
        let inv = inverse_frequencies(&RopeConfig { theta: 500_000.0, dim: 128, scaling }, Regime::Plain).unwrap();
        let inv = Vec::<f32>::try_from(&inv).unwrap();
        let plain = |i: usize| 500_000f64.powf(-(2.0 * i as f64) / 128.0);
        assert_eq!(inv[0], 1.0);
        assert!((f64::from(inv[10]) - plain(10)).abs() < 1e-7);
        assert!((f64::from(inv[63]) - plain(63) / 8.0).abs() < 1e-12);
        // A wave of 2 pi / plain(32) = 4443 lies between 2048 and 8192: blended, so strictly between both.
        assert!(f64::from(inv[32]) < plain(32) && f64::from(inv[32]) > plain(32) / 8.0);
    }
}
