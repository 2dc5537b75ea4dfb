//! Rotary position embedding (Su et al. 2021), with the frequencies of `rope_frequencies`.

use super::rope_frequencies::{Regime, attention_factor, inverse_frequencies, regime};
use crate::config::RopeConfig;
use crate::kernels::{Kernels, Pairing, Rotation};
use crate::kv::Segment;
use crate::reproducible::on_one_thread;
use tch::{Device, Kind, TchError, Tensor};

/// Tables of cosines and sines, grown for a longer context and replaced for other frequencies.
pub(crate) struct RotaryEmbedding {
    config: RopeConfig,
    pairing: Pairing,
    regime: Regime,
    /// `[dim / 2]`, f32.
    inv_freq: Tensor,
    /// `[positions, dim]`, in the model's kind or in f32.
    cos: Tensor,
    sin: Tensor,
    options: (Kind, Device),
}

impl RotaryEmbedding {
    /// Creates tables for `positions` positions, in the kind of `options`; heads of any kind are turned in the more precise of
    /// both.
    pub(crate) fn new(
        config: RopeConfig,
        pairing: Pairing,
        positions: i64,
        options: (Kind, Device),
    ) -> Result<Self, TchError> {
        let regime = regime(&config, 0);
        let inv_freq = inverse_frequencies(&config, regime)?.f_to_device(options.1)?;
        let (cos, sin) = tables(&inv_freq, pairing, attention_factor(&config), positions, options.0)?;
        Ok(Self { config, pairing, regime, inv_freq, cos, sin, options })
    }

    /// Returns the rotation of the rows of segments in order. The last row of each segment is the current end of its
    /// sequence.
    pub(crate) fn rotation(&mut self, kernels: &dyn Kernels, segments: &[Segment]) -> Result<Rotation, TchError> {
        let regime_of = |rope: &Self, segment: &Segment| regime(&rope.config, segment.end() as i64);
        let first = segments.first().map(|segment| regime_of(self, segment));
        if let [one] = segments {
            return self.of_segment(one);
        }
        if segments.iter().any(|segment| Some(regime_of(self, segment)) != first) {
            let each = segments.iter().map(|segment| self.of_segment(segment)).collect::<Result<Vec<_>, _>>()?;
            let (cos, sin): (Vec<_>, Vec<_>) = each.into_iter().map(|one| (one.cos, one.sin)).unzip();
            return Ok(Rotation { cos: Tensor::f_cat(&cos, 0)?, sin: Tensor::f_cat(&sin, 0)?, pairing: self.pairing });
        }
        if let Some(longest) = segments.iter().max_by_key(|segment| segment.end()) {
            self.prepare(longest.end() as i64)?;
        }
        let places = segments.iter().flat_map(|segment| segment.position as i64..segment.end() as i64);
        let places = kernels.to_device(&places.collect::<Vec<_>>(), self.options.1)?;
        let (cos, sin) = (kernels.embed(&self.cos, &places)?, kernels.embed(&self.sin, &places)?);
        Ok(Rotation { cos, sin, pairing: self.pairing })
    }

    fn of_segment(&mut self, segment: &Segment) -> Result<Rotation, TchError> {
        self.prepare(segment.end() as i64)?;
        let (start, rows) = (segment.position as i64, segment.rows as i64);
        let (cos, sin) = (self.cos.f_narrow(0, start, rows)?, self.sin.f_narrow(0, start, rows)?);
        Ok(Rotation { cos, sin, pairing: self.pairing })
    }

    /// Prepares the tables for a sequence of `length` tokens.
    fn prepare(&mut self, length: i64) -> Result<(), TchError> {
        let wanted = regime(&self.config, length);
        let have = self.cos.size().first().copied().unwrap_or(0);
        if wanted != self.regime {
            self.inv_freq = inverse_frequencies(&self.config, wanted)?.f_to_device(self.options.1)?;
            self.regime = wanted;
            self.fill(have.max(length))?;
        } else if have < length {
            // Doubled, so that a long generation does not recompute them at every token.
            self.fill(length * 2)?;
        }
        Ok(())
    }

    /// Returns whether a sequence of `length` tokens is rotated differently from its prefixes.
    pub(crate) fn depends_on_length(&self, length: usize) -> bool {
        regime(&self.config, length as i64) != regime(&self.config, 0)
    }

    /// Returns whether keys of a sequence of `length` tokens cannot be combined with the keys of shorter ones: `longrope`
    /// has other frequencies there, and transformers recomputes the whole sequence.
    pub(crate) fn is_long(&self, length: usize) -> bool {
        regime(&self.config, length as i64) == Regime::Long
    }

    fn fill(&mut self, positions: i64) -> Result<(), TchError> {
        let factor = attention_factor(&self.config);
        (self.cos, self.sin) = tables(&self.inv_freq, self.pairing, factor, positions, self.options.0)?;
        Ok(())
    }
}

/// Padded to a multiple of 64 positions and computed on one thread, so that no entry depends on the tables' size.
fn tables(
    inv_freq: &Tensor,
    pairing: Pairing,
    factor: f64,
    positions: i64,
    kind: Kind,
) -> Result<(Tensor, Tensor), TchError> {
    let positions = (positions + 63) / 64 * 64;
    let at = Tensor::f_arange(positions, (Kind::Float, inv_freq.device()))?.f_unsqueeze(1)?;
    let angles = at.f_mul(&inv_freq.f_unsqueeze(0)?)?;
    let angles = match pairing {
        Pairing::Halves | Pairing::Sorted => Tensor::f_cat(&[&angles, &angles], -1)?,
        Pairing::Neighbours => Tensor::f_stack(&[&angles, &angles], -1)?.f_reshape([positions, -1])?,
    };
    let scaled = |x: Tensor| if factor == 1.0 { x.f_to_kind(kind) } else { x.f_mul_scalar(factor)?.f_to_kind(kind) };
    on_one_thread(angles.numel(), || Ok((scaled(angles.f_cos()?)?, scaled(angles.f_sin()?)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RopeScaling;
    use crate::kernels::Reference;

    #[test]
    fn rotation_keeps_norms_and_grown_tables_keep_their_values() {
        assert_eq!(crate::reproducible::make_mkl_reproducible(), None);
        let config = RopeConfig { theta: 10_000.0, dim: 8, scaling: RopeScaling::Default };
        let mut rope = RotaryEmbedding::new(config, Pairing::Halves, 4, (Kind::Float, Device::Cpu)).unwrap();
        let x = Tensor::ones([4, 2, 8], (Kind::Float, Device::Cpu));
        let mut arena = crate::kv::Arena::new(&[Device::Cpu], 1, (1, 1), Kind::Float).unwrap();
        let own = arena.allocate(1).unwrap();
        let at = |position, rows| [Segment::alone(own, position, rows)];
        let before = rope.rotation(&Reference, &at(0, 4)).unwrap().apply(&x).unwrap();
        assert!(before.narrow(0, 0, 1).equal(&x.narrow(0, 0, 1)), "position 0 is not turned");
        let lengths = (&before * &before).sum_dim_intlist([-1i64].as_slice(), false, Kind::Float);
        assert!(lengths.allclose(&Tensor::full([4, 2], 8.0, (Kind::Float, Device::Cpu)), 1e-5, 1e-5, false));
        rope.rotation(&Reference, &at(100, 1)).unwrap();
        assert!(rope.rotation(&Reference, &at(0, 4)).unwrap().apply(&x).unwrap().equal(&before));
        assert!(
            rope.rotation(&Reference, &at(3, 1))
                .unwrap()
                .apply(&x.narrow(0, 0, 1))
                .unwrap()
                .equal(&before.narrow(0, 3, 1))
        );
        let both = [at(2, 2), at(0, 2)].concat();
        let both = rope.rotation(&Reference, &both).unwrap().apply(&x).unwrap();
        assert!(both.narrow(0, 2, 2).equal(&before.narrow(0, 0, 2)), "rows are turned by their own positions");
        let padded = rope.rotation(&Reference, &at(0, 2)).unwrap().padded(2).unwrap().apply(&x).unwrap();
        assert!(padded.narrow(0, 0, 2).equal(&before.narrow(0, 0, 2)), "padding turns no other row");
    }

    /// The three pairings are one rotation of differently sorted heads.
    #[test]
    fn pairings_give_the_same_products_of_queries_and_keys() {
        assert_eq!(crate::reproducible::make_mkl_reproducible(), None);
        tch::manual_seed(7);
        let options = (Kind::Float, Device::Cpu);
        let [query, key] = [0, 1].map(|_| Tensor::randn([5, 2, 8], options));
        let halves = |x: &Tensor| x.view([5, 2, 4, 2]).transpose(2, 3).reshape([5, 2, 8]);
        let products = |pairing, query: &Tensor, key: &Tensor| {
            let config = RopeConfig { theta: 100.0, dim: 8, scaling: RopeScaling::Default };
            let mut rope = RotaryEmbedding::new(config, pairing, 4, options).unwrap();
            let mut arena = crate::kv::Arena::new(&[Device::Cpu], 1, (1, 1), Kind::Float).unwrap();
            let own = arena.allocate(1).unwrap();
            let rotation = rope.rotation(&Reference, &[Segment::alone(own, 3, 5)]).unwrap();
            let turned = |x: &Tensor| rotation.apply(x).unwrap().transpose(0, 1);
            turned(query).matmul(&turned(key).transpose(1, 2))
        };
        let wanted = products(Pairing::Halves, &halves(&query), &halves(&key));
        for pairing in [Pairing::Neighbours, Pairing::Sorted] {
            let got = products(pairing, &query, &key);
            assert!(got.allclose(&wanted, 1e-5, 1e-5, false), "{pairing:?}");
        }
        assert!(!products(Pairing::Halves, &query, &key).allclose(&wanted, 1e-2, 1e-2, false));
    }
}
