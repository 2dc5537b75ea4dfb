//! Weights in eight-bit floats, dequantised as they are loaded: each number times the scale of its block, of its row or of its
//! tensor, computed in float32 and rounded once to the model's kind.
//!
//! Blocks are DeepSeek-V3's (2024, section 3.3), cut at the edges of a tensor. The scales of activations, which programs
//! that compute in eight bits need, are ignored.

use super::MappedFile;
use crate::fault::{device_fault, file_fault};
use compass_plan::engine::EngineFault;
use compass_plan::weights::Fp8;
use std::collections::BTreeMap;
use tch::{Device, Kind, TchError, Tensor};

/// Endings of the name of a tensor's scale; both multiply, whatever their names suggest.
const SCALES: [&str; 2] = ["_scale_inv", "_scale"];

/// Names of scales for activations, which are computed, not stored.
const OF_ACTIVATIONS: [&str; 5] = [".input_scale", ".activation_scale", ".k_scale", ".v_scale", ".q_scale"];

/// Number of elements dequantised together; float32 copies of them are in memory meanwhile.
const SLAB: i64 = 1 << 22;

/// The tensors of a checkpoint that are stored in eight bits.
pub(super) struct Float8 {
    block: Option<(i64, i64)>,
    /// The file and the name of each tensor's scale.
    scales: BTreeMap<String, (usize, String)>,
}

impl Float8 {
    /// Finds the scales of all tensors in eight bits. They are taken out of `places`: the model has no tensors of these names.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if one has no scale.
    pub(super) fn find(
        fp8: Fp8,
        files: &[MappedFile],
        places: &mut BTreeMap<String, Vec<usize>>,
    ) -> Result<Self, EngineFault> {
        let mut scales = BTreeMap::new();
        for (place, file) in files.iter().enumerate() {
            for name in file.names().filter(|name| file.is_float8(name)) {
                let scale = SCALES.iter().map(|ending| format!("{name}{ending}"));
                let scale = scale.into_iter().find_map(|scale| match places.get(&scale)?.as_slice() {
                    [at] => Some((*at, scale)),
                    _ => None,
                });
                let (Some(scale), Some([_])) = (scale, places.get(name).map(Vec::as_slice)) else {
                    let what = format!("tensor `{name}` is stored in eight bits, and `{name}{}` is missing", SCALES[0]);
                    return Err(file_fault(files.get(place).map_or(file.path(), MappedFile::path), what));
                };
                scales.insert(name.to_owned(), scale);
            }
        }
        for (_, scale) in scales.values() {
            places.remove(scale);
        }
        places.retain(|name, _| !OF_ACTIVATIONS.iter().any(|ending| name.ends_with(ending)));
        let block = fp8.block.map(|(rows, columns)| (i64::from(rows), i64::from(columns)));
        Ok(Self { block, scales })
    }

    /// Returns whether no tensor is stored in eight bits.
    pub(super) fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Returns the tensor `name` of `file`, dequantised; `None` if it is not stored in eight bits.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if tensor and scale do not fit, [`EngineFault::Device`] if libtorch fails.
    pub(super) fn tensor(
        &self,
        name: &str,
        file: &MappedFile,
        files: &[MappedFile],
        (kind, device): (Kind, Device),
    ) -> Option<Result<Tensor, EngineFault>> {
        let (place, scale_name) = self.scales.get(name)?;
        let of_scale = files.get(*place)?;
        let (shape, scale_shape) = (file.shape(name)?, of_scale.shape(scale_name)?);
        let Some(spans) = Spans::of(shape, scale_shape, self.block) else {
            let blocks = self.block.map_or_else(
                || "neither one for all nor one for each row".to_owned(),
                |(rows, columns)| format!("not one for each block of {rows} by {columns}"),
            );
            let what = format!("`{scale_name}` {scale_shape:?} is {blocks} of tensor `{name}` {shape:?}");
            return Some(Err(file_fault(of_scale.path(), what)));
        };
        Some(of_scale.tensor(scale_name, Kind::Float, device).and_then(|scale| {
            file.float8(name, |stored| {
                dequantised(stored, &scale, spans, (kind, device)).map_err(|error| device_fault(&error))
            })
        }))
    }
}

/// Numbers that share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spans {
    Tensor,
    Row,
    Block(i64, i64),
}

impl Spans {
    /// Returns what the scales of shape `scale` apply to, in a tensor of shape `whole`; `None` if they do not fit it.
    fn of(whole: &[i64], scale: &[i64], block: Option<(i64, i64)>) -> Option<Self> {
        match (block, whole, scale) {
            (Some((m, n)), [rows, columns], [down, across]) => {
                let parts = |size: i64, side: i64| (size + side - 1) / side;
                let fits = (*down, *across) == (parts(*rows, m), parts(*columns, n));
                fits.then_some(Self::Block(m, n))
            }
            (Some(_), ..) | (None, [], _) => None,
            (None, ..) if scale.iter().product::<i64>() == 1 => Some(Self::Tensor),
            (None, [rows, _], [count] | [count, 1]) if rows == count => Some(Self::Row),
            _ => None,
        }
    }
}

/// Multiplies `stored` by its scales, some rows at a time.
fn dequantised(
    stored: &Tensor,
    scale: &Tensor,
    spans: Spans,
    (kind, device): (Kind, Device),
) -> Result<Tensor, TchError> {
    let size = stored.size();
    let rows = size.first().copied().unwrap_or(0);
    let row = size.iter().skip(1).product::<i64>().max(1);
    let unit = if let Spans::Block(rows, _) = spans { rows } else { 1 };
    // Whole blocks, so that every slab begins with one.
    let count = ((SLAB / row).max(1) / unit).max(1) * unit;
    let whole = Tensor::f_empty(&size, (kind, device))?;
    let mut first = 0;
    while first < rows {
        let count = count.min(rows - first);
        let part = stored.f_narrow(0, first, count)?.f_to_device(device)?.f_to_kind(Kind::Float)?;
        let factor = match spans {
            Spans::Tensor => scale.f_reshape(vec![1; size.len()].as_slice())?,
            Spans::Row => scale.f_reshape([-1, 1])?.f_narrow(0, first, count)?,
            Spans::Block(m, n) => {
                let lines = scale.f_narrow(0, first / m, (count + m - 1) / m)?;
                let down = lines.f_repeat_interleave_self_int(m, 0, None)?.f_narrow(0, 0, count)?;
                down.f_repeat_interleave_self_int(n, 1, None)?.f_narrow(1, 0, row)?
            }
        };
        whole.f_narrow(0, first, count)?.f_copy_(&part.f_mul(&factor)?)?;
        first += count;
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_scale_is_for_follows_from_the_shapes() {
        for (whole, scale, block, spans) in [
            (&[256, 384][..], &[2, 3][..], Some((128, 128)), Some(Spans::Block(128, 128))),
            (&[257, 384], &[3, 3], Some((128, 128)), Some(Spans::Block(128, 128))),
            (&[256, 384], &[3, 2], Some((128, 128)), None),
            (&[256, 384], &[1], Some((128, 128)), None),
            (&[256, 384], &[], None, Some(Spans::Tensor)),
            (&[256, 384], &[1], None, Some(Spans::Tensor)),
            (&[4, 256, 384], &[1, 1, 1], None, Some(Spans::Tensor)),
            (&[256, 384], &[256, 1], None, Some(Spans::Row)),
            (&[256, 384], &[256], None, Some(Spans::Row)),
            (&[256, 384], &[1, 384], None, None),
            (&[], &[1], None, None),
        ] {
            assert_eq!(Spans::of(whole, scale, block), spans, "{whole:?} {scale:?} {block:?}");
        }
    }

    #[test]
    fn slabs_begin_with_a_block() {
        // 1,000,000 columns: four rows would be a slab, and blocks have three.
        let (rows, columns) = (8, 1_000_000);
        let stored = Tensor::ones([rows, columns], (Kind::Float, Device::Cpu)).to_kind(Kind::Float8e4m3fn);
        let scale = Tensor::from_slice(&[1f32, 2.0, 3.0]).reshape([3, 1]);
        let options = (Kind::BFloat16, Device::Cpu);
        let whole = dequantised(&stored, &scale, Spans::Block(3, columns), options).unwrap();
        for (row, expected) in [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0].into_iter().enumerate() {
            let row = whole.get(row as i64).to_kind(Kind::Double);
            assert_eq!((row.min().double_value(&[]), row.max().double_value(&[])), (expected, expected));
        }
    }
}
