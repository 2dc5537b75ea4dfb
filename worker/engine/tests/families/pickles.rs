//! Checkpoints of `torch.save` that are incomplete or ask to execute something: one line that names the file. `goldens`
//! tests complete ones.

use crate::support::{golden, said_of};

/// Returns the message of [`said_of`] for damage that is always detected.
fn said(case: &str, name: &str, damage: impl FnOnce(Vec<u8>) -> Vec<u8>) -> String {
    let said = said_of(case, name, damage).unwrap_err();
    assert!(said.contains(name), "{said}");
    said
}

/// Replaces the only occurrence of `from`, of the same length.
fn replaced(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
    bytes[at..at + to.len()].copy_from_slice(to);
    bytes
}

#[test]
fn truncation_anywhere() {
    for case in ["pickle-llama", "pickle-old-gpt2"] {
        let whole = std::fs::read(golden(case).join("pytorch_model.bin")).unwrap().len();
        for keep in [0, 3, 40, 300, 1000, 5000, whole / 2, whole - 100, whole - 1] {
            let said = said(case, "pytorch_model.bin", |bytes| bytes[..keep].to_vec());
            assert!(said.contains("fetch it again"), "{case} of {keep} bytes: {said}");
        }
    }
}

#[test]
fn other_calls_are_rejected() {
    let said = said("pickle-old-gpt2", "pytorch_model.bin", |bytes| {
        replaced(bytes, b"ctorch._utils\n_rebuild_tensor_v2\n", b"csubprocess__\n_check_call_tensor_\n")
    });
    assert!(
        said.contains("`subprocess__._check_call_tensor_`") && said.contains("nothing in a checkpoint is run"),
        "{said}"
    );
}

#[test]
fn tensor_of_another_name() {
    let said = said("pickle-llama", "pytorch_model.bin", |bytes| {
        replaced(bytes, b"model.layers.1.mlp.up_proj.weight", b"model.layers.1.mlp.UP_proj.weight")
    });
    assert!(said.contains("`model.layers.1.mlp.up_proj.weight`") && said.contains("missing"), "{said}");
}

#[test]
fn missing_shard() {
    let said = said("pickle-qwen2-shards", "pytorch_model.bin.index.json", |bytes| {
        let text = String::from_utf8(bytes).unwrap();
        text.replace("pytorch_model-2-of-2.bin", "pytorch_model.bin.index.json-2.bin").into_bytes()
    });
    assert!(said.contains("no such weights file"), "{said}");
}
