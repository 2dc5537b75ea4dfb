//! Checkpoints of `torch.save` that are incomplete or ask to execute something: one line that names the file. `goldens`
//! tests complete ones.

use crate::families::support::{golden, message_of};

/// Returns the message of [`message_of`] for damage that is always detected.
fn message(case: &str, name: &str, damage: impl FnOnce(Vec<u8>) -> Vec<u8>) -> String {
    let message = message_of(case, name, damage).unwrap_err();
    assert!(message.contains(name), "{message}");
    message
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
            let message = message(case, "pytorch_model.bin", |bytes| bytes[..keep].to_vec());
            assert!(message.contains("fetch it again"), "{case} of {keep} bytes: {message}");
        }
    }
}

#[test]
fn other_calls_are_rejected() {
    let message = message("pickle-old-gpt2", "pytorch_model.bin", |bytes| {
        replaced(bytes, b"ctorch._utils\n_rebuild_tensor_v2\n", b"csubprocess__\n_check_call_tensor_\n")
    });
    assert!(
        message.contains("`subprocess__._check_call_tensor_`") && message.contains("nothing in a checkpoint is run"),
        "{message}"
    );
}

#[test]
fn tensor_of_another_name() {
    let message = message("pickle-llama", "pytorch_model.bin", |bytes| {
        replaced(bytes, b"model.layers.1.mlp.up_proj.weight", b"model.layers.1.mlp.UP_proj.weight")
    });
    assert!(message.contains("`model.layers.1.mlp.up_proj.weight`") && message.contains("missing"), "{message}");
}

#[test]
fn missing_shard() {
    let message = message("pickle-qwen2-shards", "pytorch_model.bin.index.json", |bytes| {
        let text = String::from_utf8(bytes).unwrap();
        text.replace("pytorch_model-2-of-2.bin", "pytorch_model.bin.index.json-2.bin").into_bytes()
    });
    assert!(message.contains("no such weights file"), "{message}");
}
