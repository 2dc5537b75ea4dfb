//! A rotation of heads by their positions.

use tch::{Device, TchError, Tensor};

/// Entries of a head that turn together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// One of the first half with one of the second (Llama).
    #[default]
    Halves,
    /// Neighbours (GLM, DeepSeek-V2).
    Neighbours,
    /// Neighbours, which are sorted into halves before (DeepSeek-V3): the same products of queries and keys, summed in
    /// another order.
    Sorted,
}

/// Rotation of some positions.
pub(crate) struct Rotation {
    /// `[rows, dim]`.
    pub(crate) cos: Tensor,
    pub(crate) sin: Tensor,
    pub(crate) pairing: Pairing,
}

impl Rotation {
    /// Returns a copy on another device.
    pub(crate) fn to_device(&self, device: Device) -> Result<Self, TchError> {
        Ok(Self { cos: self.cos.f_to_device(device)?, sin: self.sin.f_to_device(device)?, pairing: self.pairing })
    }

    /// Returns a rotation of halves by these cosines and sines, `[rows, dim]` each.
    pub(crate) fn halves(cos: Tensor, sin: Tensor) -> Self {
        Self { cos, sin, pairing: Pairing::Halves }
    }

    /// Returns cosines and sines, `[rows, dim]` each, if the first half of a head turns with the second.
    pub(crate) fn of_halves(&self) -> Option<(&Tensor, &Tensor)> {
        (self.pairing == Pairing::Halves).then_some((&self.cos, &self.sin))
    }

    /// Appends `added` rows that pad a pass, whose heads become zeros.
    pub(crate) fn padded(self, added: i64) -> Result<Self, TchError> {
        if added == 0 {
            return Ok(self);
        }
        let pad = |x: &Tensor| x.f_constant_pad_nd([0, 0, 0, added]);
        Ok(Self { cos: pad(&self.cos)?, sin: pad(&self.sin)?, pairing: self.pairing })
    }

    /// Rotates the first entries of each head of `x`, `[rows, heads, head_dim]`.
    pub(crate) fn apply(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let (_, _, head_dim) = x.size3()?;
        let (_, dim) = self.cos.size2()?;
        if dim == head_dim {
            return self.turn(x);
        }
        Tensor::f_cat(&[self.turn(&x.f_narrow(2, 0, dim)?)?, x.f_narrow(2, dim, head_dim - dim)?], -1)
    }

    fn turn(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let (rows, heads, dim) = x.size3()?;
        let half = dim / 2;
        let sorted = match self.pairing {
            Pairing::Halves | Pairing::Neighbours => x.shallow_clone(),
            Pairing::Sorted => x.f_reshape([rows, heads, half, 2])?.f_transpose(2, 3)?.f_reshape([rows, heads, dim])?,
        };
        let rotated = match self.pairing {
            Pairing::Halves | Pairing::Sorted => {
                let (first, second) = (sorted.f_narrow(2, 0, half)?, sorted.f_narrow(2, half, half)?);
                Tensor::f_cat(&[second.f_neg()?, first], -1)?
            }
            Pairing::Neighbours => {
                let pairs = sorted.f_reshape([rows, heads, half, 2])?;
                let (first, second) = (pairs.f_select(3, 0)?, pairs.f_select(3, 1)?);
                Tensor::f_stack(&[second.f_neg()?, first], -1)?.f_reshape([rows, heads, dim])?
            }
        };
        let (cos, sin) = (self.cos.f_unsqueeze(1)?, self.sin.f_unsqueeze(1)?);
        sorted.f_mul(&cos)?.f_add(&rotated.f_mul(&sin)?)?.f_to_kind(x.kind())
    }
}
