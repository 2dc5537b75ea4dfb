//! Incomplete directories of Meta's and InternLM's layouts. `goldens` tests complete ones.

use crate::families::support::{copy_of, golden, load, message_in, message_of};
use compass_plan::Dtype;
use safetensors::SafeTensors;
use std::path::Path;

fn message_after(case: &str, damage: impl FnOnce(&Path)) -> String {
    let folder = copy_of(case);
    damage(folder.path());
    message_in(folder.path()).unwrap_err()
}

fn assert_names(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

#[test]
fn missing_rank() {
    let message = message_after("meta-llama-2", |path| std::fs::remove_file(path.join("consolidated.00.pth")).unwrap());
    assert_names(&message, &["consolidated.00.pth", "no such weights file"]);
    let message = message_after("meta-llama-2", |path| std::fs::remove_file(path.join("consolidated.01.pth")).unwrap());
    assert_names(&message, &["consolidated.00.pth", "shape"]);
    for name in ["model_tp0_pp0.pt", "model_tp1_pp0.pt", "model_tp0_pp1.pt"] {
        let message = message_after("internlm-ranks", |path| std::fs::remove_file(path.join(name)).unwrap());
        assert_names(&message, &[name, "no such weights file"]);
    }
}

#[test]
fn shards_that_do_not_add_up_to_a_tensor() {
    let message = message_after("meta-llama-2", |path| {
        std::fs::copy(path.join("consolidated.01.pth"), path.join("consolidated.02.pth")).unwrap();
    });
    assert_names(&message, &["consolidated.00.pth", "tok_embeddings.weight", "do not make up"]);
}

#[test]
fn parameters_that_do_not_match_the_weights() {
    let layers = |from: &'static str, to: &'static str| {
        move |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(from, to).into_bytes()
    };
    let folder = copy_of("meta-llama-3");
    let params = folder.path().join("params.json");
    let text = std::fs::read(&params).unwrap();
    std::fs::write(&params, layers("\"n_layers\": 2", "\"n_layers\": 1")(text.clone())).unwrap();
    let message = message_in(folder.path()).unwrap_err();
    assert_names(&message, &["consolidated.00.pth", "layers.1.", "not part of the model", "params.json"]);
    std::fs::write(&params, layers("\"n_layers\": 2", "\"n_layers\": 3")(text)).unwrap();
    let message = message_in(folder.path()).unwrap_err();
    assert_names(&message, &["layers.2.", "missing", "params.json"]);
    let message = message_of("meta-llama-3", "params.json", layers("\"n_heads\": 4", "\"n_heads\": 5")).unwrap_err();
    assert_names(&message, &["do not fit together"]);
}

#[test]
fn configuration_that_asks_to_execute_something() {
    let pickle = b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00true\x85R.";
    let mut old = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.".to_vec();
    old.extend(pickle);
    let message = message_of("internlm-ranks", "model_config.pt", |_| old).unwrap_err();
    assert_names(&message, &["`posix.system`", "nothing in a checkpoint is run"]);
}

/// The text of a Gemma 3 with a vision half has two sets of names: the published ones, and the ones that newer versions of
/// transformers save.
#[test]
fn text_beside_a_vision_half_has_two_sets_of_names() {
    let tokens: Vec<u32> = (0..20).map(|token| token * 7 % 60).collect();
    let mut published = load(&golden("gemma3-vision"), Dtype::Float32, 1).unwrap();
    let folder = copy_of("gemma3-vision");
    let path = folder.path().join("model.safetensors");
    let bytes = std::fs::read(&path).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let renamed = tensors.iter().map(|(name, view)| {
        let name = match name.strip_prefix("language_model.model.") {
            Some(name) => format!("model.language_model.{name}"),
            None => format!("model.{name}"),
        };
        (name, view)
    });
    std::fs::write(&path, safetensors::serialize(renamed, None).unwrap()).unwrap();
    let mut saved_again = load(folder.path(), Dtype::Float32, 1).unwrap();
    assert_eq!(saved_again.prefill(&tokens).unwrap(), published.prefill(&tokens).unwrap());
}
