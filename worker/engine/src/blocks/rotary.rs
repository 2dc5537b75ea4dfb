//! Rotary position embedding (Su et al. 2021), with the stretchings that transformers calls `linear` and `llama3`.
//!
//! Frequencies are computed in f32 in transformers' order of operations: f64 would be better numbers and other bits.

use crate::config::{RopeConfig, RopeScaling};
use crate::reproducible::on_one_thread;
use tch::{Device, Kind, TchError, Tensor};

/// Tables of cosines and sines, grown when a longer context comes.
pub(crate) struct RotaryEmbedding {
    /// `[head_dim / 2]`, f32.
    inv_freq: Tensor,
    /// `[positions, head_dim]` in the model's kind.
    cos: Tensor,
    sin: Tensor,
    kind: Kind,
}

impl RotaryEmbedding {
    /// Tables for `positions` positions.
    pub(crate) fn new(
        config: &RopeConfig,
        head_dim: i64,
        positions: i64,
        kind: Kind,
        device: Device,
    ) -> Result<Self, TchError> {
        let inv_freq = inverse_frequencies(config, head_dim)?.f_to_device(device)?;
        let (cos, sin) = tables(&inv_freq, positions, kind)?;
        Ok(Self { inv_freq, cos, sin, kind })
    }

    /// Makes sure that positions below `positions` are in the tables.
    pub(crate) fn grow(&mut self, positions: i64) -> Result<(), TchError> {
        if self.cos.size().first().is_none_or(|&have| have < positions) {
            // Doubled, so that a long generation does not recompute them at every token.
            (self.cos, self.sin) = tables(&self.inv_freq, positions * 2, self.kind)?;
        }
        Ok(())
    }

    /// Rotates `x`, `[1, heads, rows, head_dim]`, whose first row stands at `start`. The positions must be in the tables.
    pub(crate) fn apply(&self, x: &Tensor, start: i64) -> Result<Tensor, TchError> {
        let (_, _, rows, head_dim) = x.size4()?;
        let cos = self.cos.f_narrow(0, start, rows)?;
        let sin = self.sin.f_narrow(0, start, rows)?;
        let half = head_dim / 2;
        let rotated = Tensor::f_cat(&[x.f_narrow(3, half, half)?.f_neg()?, x.f_narrow(3, 0, half)?], -1)?;
        x.f_mul(&cos)?.f_add(&rotated.f_mul(&sin)?)
    }
}

/// Filled up to a multiple of 64 positions and computed on one thread, so that no entry depends on the tables' size.
fn tables(inv_freq: &Tensor, positions: i64, kind: Kind) -> Result<(Tensor, Tensor), TchError> {
    let positions = (positions + 63) / 64 * 64;
    let at = Tensor::f_arange(positions, (Kind::Float, inv_freq.device()))?.f_unsqueeze(1)?;
    let angles = at.f_mul(&inv_freq.f_unsqueeze(0)?)?;
    let angles = Tensor::f_cat(&[&angles, &angles], -1)?;
    let compute = || Ok((angles.f_cos()?.f_to_kind(kind)?, angles.f_sin()?.f_to_kind(kind)?));
    on_one_thread(angles.numel(), compute)
}

/// `1 / theta^(2i / head_dim)`, stretched; `[head_dim / 2]` in f32 on the CPU.
fn inverse_frequencies(config: &RopeConfig, head_dim: i64) -> Result<Tensor, TchError> {
    let even = Tensor::f_arange_start_step(0, head_dim, 2, (Kind::Float, Device::Cpu))?;
    let exponent = even.f_div_scalar(head_dim)?;
    let plain = Tensor::f_pow_scalar(config.theta, &exponent)?.f_reciprocal()?;
    match config.scaling {
        RopeScaling::Default => Ok(plain),
        RopeScaling::Linear { factor } => plain.f_div_scalar(factor),
        RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
            let plain = Vec::<f32>::try_from(&plain)?;
            let stretched = plain.iter().map(|&frequency| {
                llama3(frequency, factor, low_freq_factor, high_freq_factor, original_max_position_embeddings)
            });
            Tensor::f_from_slice(&stretched.collect::<Vec<f32>>())
        }
    }
}

/// transformers' `_compute_llama3_parameters` for one frequency: long waves are stretched, short ones stay, and those
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
        let inv = inverse_frequencies(&RopeConfig { theta: 500_000.0, scaling }, 128).unwrap();
        let inv = Vec::<f32>::try_from(&inv).unwrap();
        let plain = |i: usize| 500_000f64.powf(-(2.0 * i as f64) / 128.0);
        assert_eq!(inv[0], 1.0);
        assert!((f64::from(inv[10]) - plain(10)).abs() < 1e-7);
        assert!((f64::from(inv[63]) - plain(63) / 8.0).abs() < 1e-12);
        // A wave of 2 pi / plain(32) = 4443 lies between 2048 and 8192: blended, so strictly between both.
        assert!(f64::from(inv[32]) < plain(32) && f64::from(inv[32]) > plain(32) / 8.0);
    }

    #[test]
    fn rotation_keeps_lengths_and_grown_tables_keep_their_values() {
        assert_eq!(crate::reproducible::make_mkl_reproducible(), None);
        let config = RopeConfig { theta: 10_000.0, scaling: RopeScaling::Default };
        let mut rope = RotaryEmbedding::new(&config, 8, 4, Kind::Float, Device::Cpu).unwrap();
        let x = Tensor::ones([1, 2, 4, 8], (Kind::Float, Device::Cpu));
        let before = rope.apply(&x, 0).unwrap();
        assert!(before.narrow(2, 0, 1).equal(&x.narrow(2, 0, 1)), "position 0 is not turned");
        let lengths = (&before * &before).sum_dim_intlist([-1i64].as_slice(), false, Kind::Float);
        assert!(lengths.allclose(&Tensor::full([1, 2, 4], 8.0, (Kind::Float, Device::Cpu)), 1e-5, 1e-5, false));
        rope.grow(100).unwrap();
        assert!(rope.apply(&x, 0).unwrap().equal(&before));
        assert!(rope.apply(&x.narrow(2, 0, 1), 3).unwrap().equal(&before.narrow(2, 3, 1)));
    }
}
