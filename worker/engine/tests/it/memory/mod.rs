//! Memory needed for loading: at most a tenth more than the weights in the computing format, plus 250 MB.
//!
//! Each case in a process of its own, which can have no more: memory that is not a file's.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod limit;
mod torch_save;

use compass_engine::{BareModel, DeviceChoice};
use compass_plan::{Dtype, ModelKind};
use limit::allow_more;
use safetensors::tensor::TensorView;
use serde_json::json;
use std::path::Path;
use std::process::Command;
use torch_save::{Stored, torch_save};

const VOCABULARY: usize = 32_000;
const HIDDEN: usize = 1024;
const INNER: usize = 2816;
const LAYERS: usize = 3;
const MEGABYTE: u64 = 1 << 20;
/// Names the case that a process is for.
const CASE: &str = "COMPASS_TEST_MEMORY_CASE";

/// Names in Hugging Face's and in Meta's layout, shapes, and the dimension along which Meta's ranks split a tensor.
fn tensors() -> Vec<(String, String, Vec<usize>, Option<usize>)> {
    let matrix =
        |hf: &str, meta: &str, rows, columns, by| (hf.to_owned(), meta.to_owned(), vec![rows, columns], Some(by));
    let norm = |hf: &str, meta: &str| (hf.to_owned(), meta.to_owned(), vec![HIDDEN], None);
    let mut all = vec![
        matrix("model.embed_tokens", "tok_embeddings", VOCABULARY, HIDDEN, 1),
        matrix("lm_head", "output", VOCABULARY, HIDDEN, 0),
        norm("model.norm", "norm"),
    ];
    for layer in 0..LAYERS {
        let mut part = |hf: &str, meta: &str, rows, columns, by| {
            all.push(matrix(
                &format!("model.layers.{layer}.{hf}"),
                &format!("layers.{layer}.{meta}"),
                rows,
                columns,
                by,
            ));
        };
        for name in ["q", "k", "v"] {
            part(&format!("self_attn.{name}_proj"), &format!("attention.w{name}"), HIDDEN, HIDDEN, 0);
        }
        part("self_attn.o_proj", "attention.wo", HIDDEN, HIDDEN, 1);
        part("mlp.gate_proj", "feed_forward.w1", INNER, HIDDEN, 0);
        part("mlp.up_proj", "feed_forward.w3", INNER, HIDDEN, 0);
        part("mlp.down_proj", "feed_forward.w2", HIDDEN, INNER, 1);
        for (hf, meta) in [("input_layernorm", "attention_norm"), ("post_attention_layernorm", "ffn_norm")] {
            all.push(norm(&format!("model.layers.{layer}.{hf}"), &format!("layers.{layer}.{meta}")));
        }
    }
    all
}

fn elements(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// As many numbers as in the largest tensor, each 0.01 as precisely as the format allows.
fn numbers(one: &[u8]) -> Vec<u8> {
    one.repeat(VOCABULARY * HIDDEN)
}

fn write_config(folder: &Path) {
    let config = json!({
        "architectures": ["LlamaForCausalLM"], "vocab_size": VOCABULARY, "hidden_size": HIDDEN, "intermediate_size": INNER,
        "num_hidden_layers": LAYERS, "num_attention_heads": 8, "rms_norm_eps": 1e-5, "max_position_embeddings": 64
    });
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
}

/// Writes safetensors in `shards` files.
fn write_safetensors(folder: &Path, dtype: safetensors::Dtype, one: &[u8], shards: usize) {
    write_config(folder);
    let numbers = numbers(one);
    let name = |shard: usize| match shards {
        1 => "model.safetensors".to_owned(),
        _ => format!("model-{shard}.safetensors"),
    };
    let all = tensors();
    for shard in 0..shards {
        let views = all.iter().skip(shard).step_by(shards).map(|(hf, _, shape, _)| {
            let bytes = &numbers[..elements(shape) * one.len()];
            (format!("{hf}.weight"), TensorView::new(dtype, shape.clone(), bytes).unwrap())
        });
        safetensors::serialize_to_file(views, None, &folder.join(name(shard))).unwrap();
    }
    if shards > 1 {
        let place = |(place, hf): (usize, &String)| (format!("{hf}.weight"), json!(name(place % shards)));
        let names = all.iter().map(|(hf, ..)| hf).enumerate();
        let map: serde_json::Map<_, _> = names.map(place).collect();
        let index = json!({"weight_map": map});
        std::fs::write(folder.join("model.safetensors.index.json"), index.to_string()).unwrap();
    }
}

fn write_pickle(folder: &Path) {
    write_config(folder);
    let numbers = numbers(&0x211fu16.to_le_bytes());
    let stored = tensors().into_iter().map(|(hf, _, shape, _)| {
        let bytes = &numbers[..elements(&shape) * 2];
        Stored { name: format!("{hf}.weight"), shape, class: "HalfStorage", bytes }
    });
    torch_save(&folder.join("pytorch_model.bin"), &stored.collect::<Vec<_>>());
}

fn write_meta(folder: &Path) {
    let params = json!({"dim": HIDDEN, "n_layers": LAYERS, "n_heads": 8, "multiple_of": 256, "vocab_size": -1});
    std::fs::write(folder.join("params.json"), params.to_string()).unwrap();
    let numbers = numbers(&0x3c24u16.to_le_bytes());
    for rank in 0..2 {
        let stored = tensors().into_iter().map(|(_, meta, mut shape, by)| {
            if let Some(by) = by {
                shape[by] /= 2;
            }
            let bytes = &numbers[..elements(&shape) * 2];
            Stored { name: format!("{meta}.weight"), shape, class: "BFloat16Storage", bytes }
        });
        torch_save(&folder.join(format!("consolidated.{rank:02}.pth")), &stored.collect::<Vec<_>>());
    }
}

#[test]
fn loading_needs_little_more_memory_than_the_weights() {
    let parameters: usize = tensors().iter().map(|(_, _, shape, _)| elements(shape)).sum();
    let brain = 0x3c24u16.to_le_bytes();
    let float = 0.01f32.to_le_bytes();
    type Write<'a> = Box<dyn Fn(&Path) + 'a>;
    let cases: [(&str, Write<'_>, ModelKind, Dtype); 6] = [
        (
            "fp32 unchanged",
            Box::new(|to| write_safetensors(to, safetensors::Dtype::F32, &float, 1)),
            ModelKind::Hf,
            Dtype::Float32,
        ),
        (
            "bf16 to fp32",
            Box::new(|to| write_safetensors(to, safetensors::Dtype::BF16, &brain, 1)),
            ModelKind::Hf,
            Dtype::Float32,
        ),
        (
            "bf16 shards to fp32",
            Box::new(|to| write_safetensors(to, safetensors::Dtype::BF16, &brain, 3)),
            ModelKind::Hf,
            Dtype::Float32,
        ),
        (
            "fp32 to bf16",
            Box::new(|to| write_safetensors(to, safetensors::Dtype::F32, &float, 1)),
            ModelKind::Hf,
            Dtype::Bfloat16,
        ),
        ("pickled fp16 to fp32", Box::new(write_pickle), ModelKind::Hf, Dtype::Float32),
        ("two ranks of bf16 to fp32", Box::new(write_meta), ModelKind::Llama, Dtype::Float32),
    ];
    let this_case = std::env::var(CASE).ok();
    for (name, write, layout, dtype) in cases {
        match &this_case {
            None => {
                let mut alone = Command::new(std::env::current_exe().unwrap());
                alone.args(["--exact", "memory::loading_needs_little_more_memory_than_the_weights", "--nocapture"]);
                let ended = alone.env(CASE, name).status().unwrap();
                assert!(ended.success(), "{name}: {ended}");
            }
            Some(case) if case == name => {
                let folder = tempfile::tempdir().unwrap();
                write(folder.path());
                let weights = parameters as u64 * if dtype == Dtype::Float32 { 4 } else { 2 };
                allow_more(weights + weights / 10 + 250 * MEGABYTE);
                let mut model = BareModel::load_layout(folder.path(), layout, dtype, &DeviceChoice::Cpu, 2).unwrap();
                assert!(model.prefill(&[1, 2, 3]).unwrap().iter().all(|logit| logit.is_finite()));
            }
            Some(_) => {}
        }
    }
}
