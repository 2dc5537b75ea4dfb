//! Experts that a file holds in one tensor: transformers 5 computes the experts of a layer together, and saves them so with
//! `save_original_format = False`. Each expert's matrices are named as if they were stored alone; nothing is copied.

use super::stored::{Directory, StoredTensor};

/// Endings of names of fused tensors, `[experts, rows, width]`, and the names of the equal blocks of each expert's rows.
const FUSED: [(&str, &[&str]); 2] =
    [(".experts.gate_up_proj", &["gate_proj", "up_proj"]), (".experts.down_proj", &["down_proj"])];

/// More experts are an error of the file.
const MOST_EXPERTS: i64 = 65_536;

/// Names the matrices within every tensor of fused experts; all other tensors stay.
pub(super) fn split(directory: Directory) -> Directory {
    let is_fused = |name: &str| FUSED.iter().any(|(ending, _)| name.ends_with(ending));
    if !directory.keys().any(|name| is_fused(name)) {
        return directory;
    }
    let named = directory.into_iter().flat_map(|(name, tensor)| {
        let matrices = FUSED.iter().find_map(|(ending, blocks)| {
            let at = name.strip_suffix(ending)?;
            Some(matrices(&tensor, blocks.len())?.into_iter().enumerate().map(move |(place, matrix)| {
                let (expert, block) = (place / blocks.len(), blocks[place % blocks.len()]);
                (format!("{at}.experts.{expert}.{block}.weight"), matrix)
            }))
        });
        match matrices {
            Some(matrices) => matrices.collect(),
            None => vec![(name, tensor)],
        }
    });
    named.collect()
}

/// Returns the matrices of all experts, one expert after the other; `None` if the tensor is not made of them.
fn matrices(tensor: &StoredTensor, blocks: usize) -> Option<Vec<StoredTensor>> {
    let &[experts, rows, width] = tensor.shape.as_slice() else { return None };
    let all = experts.checked_mul(i64::try_from(blocks).ok()?)?;
    let is_whole = *tensor == StoredTensor::contiguous(tensor.kind.clone(), tensor.shape.clone(), tensor.bytes.clone());
    if !is_whole || !(1..=MOST_EXPERTS).contains(&experts) || rows % i64::try_from(blocks).ok()? != 0 {
        return None;
    }
    let shape = vec![rows * experts / all, width];
    let bytes = tensor.bytes.len() / usize::try_from(all).ok()?;
    let matrix = |place: usize| {
        let start = tensor.bytes.start + place * bytes;
        StoredTensor::contiguous(tensor.kind.clone(), shape.clone(), start..start + bytes)
    };
    Some((0..usize::try_from(all).ok()?).map(matrix).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::stored::StoredKind;
    use tch::Kind;

    fn stored(shape: &[i64], start: usize) -> StoredTensor {
        let elements = shape.iter().product::<i64>() as usize;
        StoredTensor::contiguous(StoredKind::Float(Kind::BFloat16), shape.to_vec(), start..start + 2 * elements)
    }

    #[test]
    fn each_matrix_has_its_own_name_and_bytes() {
        let directory = Directory::from([
            ("m.mlp.experts.gate_up_proj".to_owned(), stored(&[2, 6, 5], 100)),
            ("m.mlp.experts.down_proj".to_owned(), stored(&[2, 5, 3], 300)),
            ("m.mlp.gate.weight".to_owned(), stored(&[2, 5], 400)),
        ]);
        let found = split(directory);
        let expected = Directory::from([
            ("m.mlp.experts.0.gate_proj.weight".to_owned(), stored(&[3, 5], 100)),
            ("m.mlp.experts.0.up_proj.weight".to_owned(), stored(&[3, 5], 130)),
            ("m.mlp.experts.1.gate_proj.weight".to_owned(), stored(&[3, 5], 160)),
            ("m.mlp.experts.1.up_proj.weight".to_owned(), stored(&[3, 5], 190)),
            ("m.mlp.experts.0.down_proj.weight".to_owned(), stored(&[5, 3], 300)),
            ("m.mlp.experts.1.down_proj.weight".to_owned(), stored(&[5, 3], 330)),
            ("m.mlp.gate.weight".to_owned(), stored(&[2, 5], 400)),
        ]);
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_not_made_of_experts_stays() {
        let turned = StoredTensor { strides: vec![1, 1, 1], ..stored(&[2, 6, 5], 0) };
        for tensor in [stored(&[6, 5], 0), stored(&[2, 5, 5], 0), stored(&[1 << 40, 0, 5], 0), turned] {
            let directory = Directory::from([("m.experts.gate_up_proj".to_owned(), tensor)]);
            assert_eq!(split(directory.clone()), directory);
        }
    }
}
