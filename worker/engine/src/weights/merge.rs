//! Merges shards of tensors from model-parallel training: Megatron splits column-parallel layers along rows,
//! row-parallel ones along columns (Shoeybi et al. 2019), and replicates the others on every rank.

use super::MappedFile;
use super::file::in_blocks;
use crate::fault::{device_fault, file_fault};
use compass_plan::engine::EngineFault;
use tch::{Device, Kind, Tensor};

/// Merges the shards of `name`, in order, to `shape`. `blocks` is the number of equal parts of rows in the whole, each
/// of which was split separately (a fused matrix of queries, keys and values has 3).
///
/// # Errors
/// [`EngineFault::Model`] if the shards do not add up to that shape, [`EngineFault::Device`] if libtorch fails.
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
        let what = format!("the rows of tensor `{name}` are not a multiple of {blocks}: shapes {shapes:?}");
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

/// Returns the dimension along which shards of these shapes add up to `whole`; `Some(None)` if each is the whole, `None`
/// if they do not fit.
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
    fn split_dimension_follows_from_the_shapes() {
        assert_eq!(cut(&[&[2, 6], &[2, 6]], &[4, 6]), Some(Some(0)));
        assert_eq!(cut(&[&[4, 2], &[4, 4]], &[4, 6]), Some(Some(1)));
        assert_eq!(cut(&[&[4, 6], &[4, 6]], &[4, 6]), Some(None));
        assert_eq!(cut(&[&[2, 6], &[3, 6]], &[4, 6]), None);
        assert_eq!(cut(&[&[2, 3], &[2, 3]], &[4, 6]), None);
        assert_eq!(cut(&[&[4], &[4]], &[4, 6]), None);
        assert_eq!(cut(&[&[4, 6], &[4, 5]], &[4, 6]), None);
    }
}
