//! Tensors that model-parallel training cut into shards, made whole: Megatron's column-parallel layers are cut along their
//! rows, row-parallel ones along their columns (Shoeybi et al. 2019), and what every rank has a copy of not at all.

use super::MappedFile;
use super::file::in_blocks;
use crate::fault::{device_fault, file_fault};
use compass_plan::engine::EngineFault;
use tch::{Device, Kind, Tensor};

/// Puts the shards of `name` together to `shape`; in order. `blocks` is in how many equal parts of rows the whole consists,
/// each of which was cut by itself (a fused matrix of queries, keys and values has 3).
///
/// # Errors
/// [`EngineFault::Model`] when the shards do not make up that shape, [`EngineFault::Device`] when libtorch fails.
pub(super) fn merged(
    shards: &[&MappedFile],
    name: &str,
    shape: &[i64],
    blocks: i64,
    (kind, device): (Kind, Device),
) -> Result<Tensor, EngineFault> {
    let Some(first) = shards.first() else { return Err(EngineFault::Model(format!("tensor `{name}` is missing"))) };
    let shapes: Vec<&[i64]> = shards.iter().map(|shard| shard.shape(name).unwrap_or_default()).collect();
    let dimension = cut(&shapes, shape).ok_or_else(|| {
        let what = format!("the shards of tensor `{name}` have shapes {shapes:?}, which do not make up {shape:?}");
        file_fault(first.path(), what)
    })?;
    let Some(dimension) = dimension else { return first.tensor(name, kind, device) };
    let blocks = if dimension == 0 { blocks } else { 1 };
    let rows = |shape: &[i64]| shape.get(dimension).copied().unwrap_or(0);
    if shapes.iter().any(|shape| rows(shape) % blocks != 0) {
        let what = format!("the rows of tensor `{name}` are no multiple of {blocks}: shapes {shapes:?}");
        return Err(file_fault(first.path(), what));
    }
    let at = if blocks == 1 { dimension as i64 } else { 1 };
    let whole = Tensor::f_empty(shape, (kind, device)).map_err(|error| device_fault(&error))?;
    let view = in_blocks(&whole, blocks).map_err(|error| device_fault(&error))?;
    let mut start = 0;
    for (shard, shape) in shards.iter().zip(&shapes) {
        let count = rows(shape) / blocks;
        let mut part = view.f_narrow(at, start, count).map_err(|error| device_fault(&error))?;
        shard.copy(name, &mut part, blocks)?;
        start += count;
    }
    Ok(whole)
}

/// The dimension along which shards of such shapes make up `whole`; `Some(None)` when each is the whole, `None` when they
/// do not fit.
fn cut(shards: &[&[i64]], whole: &[i64]) -> Option<Option<usize>> {
    if shards.iter().all(|shard| *shard == whole) {
        return Some(None);
    }
    let fits = |dimension: &usize| {
        let others = |shape: &[i64]| {
            let mut shape = shape.to_vec();
            shape.remove(*dimension);
            shape
        };
        let sum = shards.iter().map(|shard| shard.get(*dimension).copied().unwrap_or(0)).sum::<i64>();
        let alike = shards.iter().all(|shard| shard.len() == whole.len() && others(shard) == others(whole));
        alike && Some(&sum) == whole.get(*dimension)
    };
    (0..whole.len()).find(fits).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn along_which_dimension_a_tensor_was_cut() {
        assert_eq!(cut(&[&[2, 6], &[2, 6]], &[4, 6]), Some(Some(0)));
        assert_eq!(cut(&[&[4, 2], &[4, 4]], &[4, 6]), Some(Some(1)));
        assert_eq!(cut(&[&[4, 6], &[4, 6]], &[4, 6]), Some(None));
        assert_eq!(cut(&[&[2, 6], &[3, 6]], &[4, 6]), None);
        assert_eq!(cut(&[&[2, 3], &[2, 3]], &[4, 6]), None);
        assert_eq!(cut(&[&[4], &[4]], &[4, 6]), None);
        assert_eq!(cut(&[&[4, 6], &[4, 5]], &[4, 6]), None);
    }
}
