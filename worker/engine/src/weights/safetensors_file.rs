//! The directory of a safetensors file.

use super::stored::{Directory, StoredKind, StoredTensor};
use safetensors::tensor::Dtype;
use safetensors::{SafeTensorError, SafeTensors};
use tch::Kind;

/// Describes an invalid header, with a constant message: for several tensors at one offset the library names a random
/// one, and the message of a failed sample is part of results, which are compared by bytes.
fn described(error: &SafeTensorError) -> String {
    match error {
        SafeTensorError::InvalidOffset(_) => "the offsets of its tensors overlap or leave gaps".into(),
        error => error.to_string(),
    }
}

/// Reads the header of `bytes`, and checks that every tensor lies within and has the size of its shape.
///
/// # Errors
/// A message that says what is wrong.
pub(super) fn directory(bytes: &[u8]) -> Result<Directory, String> {
    let (header, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| {
        let (size, what) = (bytes.len(), described(&error));
        format!("damaged or incomplete safetensors file of {size} bytes ({what}); fetch it again")
    })?;
    let data = header + size_of::<u64>();
    let tensors = metadata.tensors().into_iter().map(|(name, info)| {
        let kind = match info.dtype {
            Dtype::F32 => StoredKind::Float(Kind::Float),
            Dtype::F16 => StoredKind::Float(Kind::Half),
            Dtype::BF16 => StoredKind::Float(Kind::BFloat16),
            Dtype::F64 => StoredKind::Float(Kind::Double),
            Dtype::F8_E4M3 => StoredKind::Float8(Kind::Float8e4m3fn),
            Dtype::F8_E5M2 => StoredKind::Float8(Kind::Float8e5m2),
            other => StoredKind::Other(format!("{other:?}")),
        };
        let (start, end) = info.data_offsets;
        let shape = info.shape.iter().map(|&size| size as i64).collect();
        (name, StoredTensor::contiguous(kind, shape, data + start..data + end))
    });
    Ok(tensors.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_about_a_damaged_header_is_constant() {
        let tensor = |name: &str| format!("\"{name}\":{{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}");
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let header = format!("{{{}}}", names.map(tensor).join(","));
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend([0; 8]);
        let first = directory(&bytes).unwrap_err();
        assert!(first.contains("offsets of its tensors overlap or leave gaps"), "{first}");
        for _ in 0..30 {
            assert_eq!(directory(&bytes).unwrap_err(), first);
        }
    }
}
