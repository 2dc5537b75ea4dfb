//! `bench-load`: how long a model takes to load, beside plain reading of the same file.
//!
//! Writes an fp32 safetensors file of about 1 GB (`--small`: 60 MB) into a temporary folder. Loading maps it and looks at
//! every weight (whether it is a number), so that all of it has been read when the model is ready. Both are timed warm (the file in the
//! page cache) and cold (put out of it, where the file system obeys), several times in turn; the medians count. Both have one
//! thread, as an engine has. The last line is `ratio: X`, loading over reading, warm.

use compass_engine::{BareModel, DeviceChoice};
use compass_plan::Dtype;
use safetensors::tensor::TensorView;
use serde_json::json;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Rounds of each measurement.
const ROUNDS: usize = 5;

/// Sizes of the model.
struct Shape {
    vocabulary: usize,
    hidden: usize,
    inner: usize,
    layers: usize,
}

const LARGE: Shape = Shape { vocabulary: 32_000, hidden: 2048, inner: 5632, layers: 2 };
const SMALL: Shape = Shape { vocabulary: 8000, hidden: 512, inner: 1536, layers: 2 };

fn main() -> ExitCode {
    let small = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [one] if one == "--small" => true,
        _ => {
            eprintln!("usage: bench-load [--small]");
            return ExitCode::from(2);
        }
    };
    match run(if small { &SMALL } else { &LARGE }) {
        Ok(ratio) => {
            println!("ratio: {ratio:.2}");
            ExitCode::SUCCESS
        }
        Err(what) => {
            eprintln!("bench-load: {what}");
            ExitCode::FAILURE
        }
    }
}

fn run(shape: &Shape) -> Result<f64, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let weights = folder.path().join("model.safetensors");
    let bytes = write(folder.path(), &weights, shape)?;
    println!("one fp32 safetensors file of {:.0} MB, one thread, {ROUNDS} rounds, medians", bytes as f64 / 1e6);
    let load = || -> Result<Duration, String> {
        let begin = Instant::now();
        let model = BareModel::load(folder.path(), Dtype::Float32, &DeviceChoice::Cpu, 1);
        let mut model = model.map_err(|fault| fault.to_string())?;
        let taken = begin.elapsed();
        let logits = model.prefill(&[1]).map_err(|fault| fault.to_string())?;
        if logits.iter().all(|logit| logit.is_finite()) { Ok(taken) } else { Err("logits that are not numbers".into()) }
    };
    let mut warm = 0.0;
    for cold in [true, false] {
        let (mut reads, mut loads) = (Vec::new(), Vec::new());
        // What libtorch does once.
        load()?;
        for _ in 0..ROUNDS {
            if cold {
                forget(&weights)?;
            }
            reads.push(read(&weights)?);
            if cold {
                forget(&weights)?;
            }
            loads.push(load()?);
        }
        let (read, load) = (median(reads), median(loads));
        let ratio = load.as_secs_f64() / read.as_secs_f64();
        println!("{}: reading {read:.0?}, loading {load:.0?}: {ratio:.2}", if cold { "cold" } else { "warm" });
        warm = ratio;
    }
    Ok(warm)
}

/// Reads a file to its end into one buffer of 4 MB.
fn read(path: &Path) -> Result<Duration, String> {
    let begin = Instant::now();
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let mut buffer = vec![0; 4 << 20];
    while file.read(&mut buffer).map_err(|error| error.to_string())? > 0 {}
    Ok(begin.elapsed())
}

/// JobCommands the kernel to put a file out of its page cache, by way of coreutils' `dd`, which needs no privileges.
fn forget(path: &Path) -> Result<(), String> {
    let mut input = std::ffi::OsString::from("if=");
    input.push(path);
    let mut dd = Command::new("dd");
    dd.arg(input).args(["iflag=nocache", "count=0"]).stderr(Stdio::null());
    let status = dd.status().map_err(|error| format!("dd: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("dd: {status}")) }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Writes a Llama of that shape, every weight 0.01, and returns the size of its weights' file in bytes.
fn write(folder: &Path, weights: &Path, shape: &Shape) -> Result<u64, String> {
    let Shape { vocabulary, hidden, inner, layers } = *shape;
    let config = json!({
        "architectures": ["LlamaForCausalLM"], "vocab_size": vocabulary, "hidden_size": hidden, "intermediate_size": inner,
        "num_hidden_layers": layers, "num_attention_heads": 8, "rms_norm_eps": 1e-5, "max_position_embeddings": 64
    });
    std::fs::write(folder.join("config.json"), config.to_string()).map_err(|error| error.to_string())?;
    let mut tensors = vec![
        ("model.embed_tokens".to_owned(), vec![vocabulary, hidden]),
        ("lm_head".to_owned(), vec![vocabulary, hidden]),
        ("model.norm".to_owned(), vec![hidden]),
    ];
    for layer in 0..layers {
        let mut push = |name: &str, shape: Vec<usize>| tensors.push((format!("model.layers.{layer}.{name}"), shape));
        for name in ["q_proj", "k_proj", "v_proj", "o_proj"] {
            push(&format!("self_attn.{name}"), vec![hidden, hidden]);
        }
        push("mlp.gate_proj", vec![inner, hidden]);
        push("mlp.up_proj", vec![inner, hidden]);
        push("mlp.down_proj", vec![hidden, inner]);
        push("input_layernorm", vec![hidden]);
        push("post_attention_layernorm", vec![hidden]);
    }
    let numbers = 0.01f32.to_le_bytes().repeat(vocabulary * hidden);
    let views = tensors.iter().map(|(name, shape)| {
        let bytes = numbers.get(..shape.iter().product::<usize>() * 4).unwrap_or_default();
        let view = TensorView::new(safetensors::Dtype::F32, shape.clone(), bytes);
        view.map(|view| (format!("{name}.weight"), view)).map_err(|error| error.to_string())
    });
    let views = views.collect::<Result<Vec<_>, String>>()?;
    safetensors::serialize_to_file(views, None, weights).map_err(|error| error.to_string())?;
    // Dirty pages cannot be put out of the cache.
    let file = File::open(weights).and_then(|file| file.sync_all().and_then(|()| file.metadata()));
    file.map(|metadata| metadata.len()).map_err(|error| error.to_string())
}
