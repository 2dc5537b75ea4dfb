//! Weights as transformers 5 holds them, and saves them with `save_original_format = False`: the experts of a layer in one tensor,
//! and other names in Mixtral and GPT-NeoX. What 5.24 itself saves is read in the same way as what these tests write.

use crate::families::support::{copy_of, golden, load};
use compass_plan::Dtype;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype as StoredDtype, TensorView};
use std::collections::BTreeMap;
use std::path::Path;

/// Names of transformers 4.57 and of 5.
const NAMES: [(&str, &str); 5] = [
    ("block_sparse_moe", "mlp"),
    (".w1.", ".gate_proj."),
    (".w3.", ".up_proj."),
    (".w2.", ".down_proj."),
    ("embed_out", "lm_head"),
];

/// Matrices of an expert, in the order of their rows in a fused tensor.
const MATRICES: [(&str, &str); 3] =
    [(".gate_proj.weight", "gate_up_proj"), (".up_proj.weight", "gate_up_proj"), (".down_proj.weight", "down_proj")];

/// A tensor's shape and bytes.
type Stored = (Vec<usize>, Vec<u8>);

/// Returns tensors as transformers 5 holds them.
fn as_version_5_holds(tensors: BTreeMap<String, Stored>) -> BTreeMap<String, Stored> {
    let mut held: BTreeMap<String, Stored> = BTreeMap::new();
    // By fused name, number of the expert, and place of the matrix in it.
    let mut matrices: BTreeMap<(String, usize, usize), Stored> = BTreeMap::new();
    for (name, stored) in tensors {
        let name = NAMES.iter().fold(name, |name, (old, new)| name.replace(old, new));
        let expert = name.split_once(".experts.").and_then(|(at, rest)| {
            let (number, matrix) = rest.split_at(rest.find('.')?);
            let place = MATRICES.iter().position(|(ending, _)| *ending == matrix)?;
            Some((format!("{at}.experts.{}", MATRICES[place].1), number.parse().ok()?, place))
        });
        match expert {
            Some(key) => matrices.insert(key, stored),
            None => held.insert(name, stored),
        };
    }
    for ((name, number, _), (shape, bytes)) in matrices {
        let (fused, all) = held.entry(name).or_insert_with(|| (vec![0, 0, shape[1]], Vec::new()));
        (fused[0], fused[1]) = (number + 1, fused[1] + if number == 0 { shape[0] } else { 0 });
        all.extend(bytes);
    }
    held
}

fn logits(folder: &Path, tokens: &[u32]) -> Vec<f32> {
    load(folder, Dtype::Float32, 1).unwrap().prefill(tokens).unwrap()
}

#[test]
fn weights_are_those_of_4_57() {
    for (case, changed) in [
        ("mixtral", "model.layers.1.mlp.experts.gate_up_proj"),
        ("qwen2-moe", "model.layers.1.mlp.experts.down_proj"),
        ("qwen3-moe", "model.layers.0.mlp.experts.gate_up_proj"),
        ("deepseek-v2", "model.layers.1.mlp.experts.gate_up_proj"),
        ("deepseek-v3", "model.layers.1.mlp.experts.gate_up_proj"),
        ("gpt-neox", "lm_head.weight"),
    ] {
        let bytes = std::fs::read(golden(case).join("model.safetensors")).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let stored = |(name, view): (String, TensorView<'_>)| {
            assert_eq!(view.dtype(), StoredDtype::BF16);
            (name, (view.shape().to_vec(), view.data().to_vec()))
        };
        let held = as_version_5_holds(tensors.tensors().into_iter().map(stored).collect());
        assert!(held.contains_key(changed), "{case}: {:?}", held.keys());
        let folder = copy_of(case);
        let views = held
            .iter()
            .map(|(name, (shape, bytes))| (name, TensorView::new(StoredDtype::BF16, shape.clone(), bytes).unwrap()));
        safetensors::serialize_to_file(views, None, &folder.path().join("model.safetensors")).unwrap();
        let tokens: Vec<u32> = (3..29).collect();
        assert_eq!(logits(folder.path(), &tokens), logits(&golden(case), &tokens), "{case}");
    }
}

#[test]
fn what_is_missing_is_named_by_its_expert() {
    let folder = copy_of("mixtral");
    let path = folder.path().join("model.safetensors");
    let names = ["model.layers.0.mlp.experts.gate_up_proj", "model.layers.0.mlp.gate.weight"];
    let data = vec![0; 2 * 3 * 48 * 32];
    let views = [(names[0], vec![3, 48, 32]), (names[1], vec![4, 32])]
        .map(|(name, shape)| (name, shape.iter().product::<usize>() * 2, shape))
        .map(|(name, size, shape)| (name, TensorView::new(StoredDtype::BF16, shape, &data[..size]).unwrap()));
    let all = std::fs::read(golden("mixtral").join("model.safetensors")).unwrap();
    let others = SafeTensors::deserialize(&all).unwrap();
    let others = others.tensors().into_iter().filter(|(name, _)| !name.contains("layers.0.block_sparse_moe"));
    let all: BTreeMap<String, TensorView<'_>> =
        others.chain(views.map(|(name, view)| (name.to_owned(), view))).collect();
    safetensors::serialize_to_file(all, None, &path).unwrap();
    let refused = load(folder.path(), Dtype::Float32, 1).err().unwrap().to_string();
    assert!(refused.contains("`model.layers.0.mlp.experts.0.down_proj.weight` [32, 24] is missing"), "{refused}");
}
