//! The directory of a safetensors file.

use super::stored::{Directory, StoredKind, StoredTensor};
use safetensors::SafeTensors;
use safetensors::tensor::Dtype;
use tch::Kind;

/// Reads the header of `bytes`, which checks that every tensor lies within and has the size of its shape.
///
/// # Errors
/// What is wrong, in words.
pub(super) fn directory(bytes: &[u8]) -> Result<Directory, String> {
    let (header, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| {
        let size = bytes.len();
        format!("damaged or incomplete safetensors file of {size} bytes ({error}); fetch it again")
    })?;
    let data = header + size_of::<u64>();
    let tensors = metadata.tensors().into_iter().map(|(name, info)| {
        let kind = match info.dtype {
            Dtype::F32 => StoredKind::Float(Kind::Float),
            Dtype::F16 => StoredKind::Float(Kind::Half),
            Dtype::BF16 => StoredKind::Float(Kind::BFloat16),
            Dtype::F64 => StoredKind::Float(Kind::Double),
            other => StoredKind::Other(format!("{other:?}")),
        };
        let (start, end) = info.data_offsets;
        let shape = info.shape.iter().map(|&size| size as i64).collect();
        (name, StoredTensor::contiguous(kind, shape, data + start..data + end))
    });
    Ok(tensors.collect())
}
