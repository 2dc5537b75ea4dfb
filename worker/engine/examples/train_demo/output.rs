//! Writes the model as a Hugging Face directory, and the data files with their digests.

use crate::model::{EPS, HEAD_DIM, HEADS, HIDDEN, INNER, KV_HEADS, LAYERS, THETA};
use crate::text::DataFile;
use crate::vocabulary::{BOS, EOS, SIZE};
use compass_types::ids::Digest;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::Path;
use tch::nn::VarStore;

/// Maximum context in the model's configuration.
const CONTEXT: u32 = 512;

/// Writes config.json, generation_config.json and tokenizer_config.json.
pub(crate) fn write_configuration(directory: &Path) -> Result<(), Box<dyn Error>> {
    let config = json!({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": SIZE, "hidden_size": HIDDEN,
        "intermediate_size": INNER, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM, "hidden_act": "silu", "rms_norm_eps": EPS,
        "rope_theta": THETA, "max_position_embeddings": CONTEXT, "attention_bias": false, "mlp_bias": false,
        "tie_word_embeddings": true, "bos_token_id": BOS, "eos_token_id": EOS, "torch_dtype": "float32"
    });
    let generation = json!({"bos_token_id": BOS, "eos_token_id": EOS, "do_sample": false});
    let tokenizer = json!({
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>",
        "model_max_length": CONTEXT, "clean_up_tokenization_spaces": false
    });
    let files = [("config.json", config), ("generation_config.json", generation), ("tokenizer_config.json", tokenizer)];
    for (name, value) in files {
        std::fs::write(directory.join(name), format!("{value:#}\n"))?;
    }
    Ok(())
}

/// Writes model.safetensors in f32.
pub(crate) fn write_weights(store: &VarStore, path: &Path) -> Result<(), Box<dyn Error>> {
    let mut stored = BTreeMap::new();
    for (name, tensor) in store.variables() {
        let shape: Vec<usize> = tensor.size().iter().map(|&size| size as usize).collect();
        let values = Vec::<f32>::try_from(tensor.f_detach()?.f_flatten(0, -1)?)?;
        stored.insert(name, (shape, values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>()));
    }
    let mut views = Vec::new();
    for (name, (shape, bytes)) in &stored {
        views.push((name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes)?));
    }
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    Ok(safetensors::serialize_to_file(views, Some(metadata), path)?)
}

/// Writes the data files and `B3SUMS`, which `b3sum --check` reads.
pub(crate) fn write_data(directory: &Path, files: &[DataFile]) -> Result<(), Box<dyn Error>> {
    let mut digests = String::new();
    for file in files {
        let text = file.text();
        digests.push_str(&format!("{}  {}\n", Digest::of(text.as_bytes()), file.name));
        std::fs::write(directory.join(file.name), text)?;
    }
    Ok(std::fs::write(directory.join("B3SUMS"), digests)?)
}
