//! A whole job, by a master and the workers that it launches: on this device and on the CPU, one table.

use super::configuration::RandomConfig;
use super::finding::{CheckStatus, Finding};
use super::setup::CheckSetup;
use super::workload::words;
use crate::device::DeviceChoice;
use crate::fault::device_fault;
use compass_plan::engine::EngineFault;
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use tch::{Device, Kind, TchError, Tensor};

const SECTION: &str = "job";

/// The model of the job: heads as wide as the kernels of a GPU need them.
const MODEL: RandomConfig = RandomConfig {
    name: "tiny",
    vocabulary: 512,
    hidden: 256,
    inner: 512,
    layers: 2,
    heads: 4,
    kv_heads: 2,
    positions: 512,
    rope_theta: 10_000,
    tied: true,
};

/// Data sets: one asks which of random answers is likelier, one what a model of random weights generates, which is never the answer.
const DATASETS: &str = r#"
[[dataset]]
abbr = "choices_ppl"
reader_cfg = { input_columns = ["question", "a", "b"], output_column = "label" }
test = { path = "rows.jsonl" }
train = { path = "rows.jsonl" }
[dataset.infer_cfg]
retriever = { type = "fix_k", ids = [0, 1, 2, 3] }
inferencer = "ppl"
[dataset.infer_cfg.ice_template]
0 = "{question} {a}"
1 = "{question} {b}"
[dataset.infer_cfg.prompt_template]
0 = "</E>{question} {a}"
1 = "</E>{question} {b}"
[dataset.eval_cfg]
evaluator = "acc"

[[dataset]]
abbr = "answers_gen"
reader_cfg = { input_columns = ["question"], output_column = "a" }
test = { path = "rows.jsonl" }
[dataset.infer_cfg]
retriever = "zero"
inferencer = { type = "gen", max_out_len = 16 }
prompt_template = "{question}"
[dataset.eval_cfg]
evaluator = "em"
"#;

pub(super) fn run(setup: &CheckSetup, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    let Some(master) = std::env::current_exe().ok().and_then(|worker| beside(&worker)) else {
        let why = "there is no compass-master beside compass-worker";
        report(Finding::ended(SECTION, CheckStatus::Skipped, why));
        return Ok(());
    };
    let root = std::env::temp_dir().join(format!("job-{}", std::process::id()));
    let ran = compare(setup, &master, &root, report);
    let _ = std::fs::remove_dir_all(&root);
    ran
}

fn beside(worker: &Path) -> Option<PathBuf> {
    let master = worker.with_file_name("compass-master");
    master.is_file().then_some(master)
}

fn compare(setup: &CheckSetup, master: &Path, root: &Path, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    let samples = setup.amount(2_000, 60);
    write_inputs(root, samples).map_err(|error| EngineFault::Missing(format!("{}: {error}", root.display())))?;
    write_weights(&root.join("model/model.safetensors")).map_err(|error| device_fault(&error))?;
    let here = match setup.device {
        DeviceChoice::Cpu => "cpu",
        DeviceChoice::Auto | DeviceChoice::Cuda(_) => "cuda",
    };
    let start = Instant::now();
    let device = done(master, root, "device", here)?;
    let seconds = start.elapsed().as_secs_f64();
    let cpu = done(master, root, "cpu", "cpu")?;
    let each = |at: &str| format!("of {}: {at}", 2 * samples);
    report(Finding::measured(SECTION, each("from its start to its table"), seconds, "s"));
    let same = device.table == cpu.table;
    report(
        Finding::measured(SECTION, each("its table and the CPU's"), if same { "equal" } else { "differ" }, "")
            .judged("equal", Some(same)),
    );
    let same = device.answers == cpu.answers;
    report(Finding::measured(SECTION, each("its answers and the CPU's"), if same { "equal" } else { "differ" }, ""));
    for line in device.table.lines().filter(|line| line.contains("_ppl")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [dataset, .., value] = words.as_slice() {
            report(Finding::measured(SECTION, format!("its table: {dataset}"), *value, ""));
        }
    }
    Ok(())
}

/// Output of a job.
struct Done {
    table: String,
    /// The model's answers, as their file has them.
    answers: Vec<u8>,
}

/// Runs the job on `device`, in a folder called `name`.
fn done(master: &Path, root: &Path, name: &str, device: &str) -> Result<Done, EngineFault> {
    let failed = |what: String| EngineFault::Missing(format!("a job on {device}: {what}"));
    let path = root.join(format!("{name}.toml"));
    let gpus = u32::from(device == "cuda");
    let toml = format!(
        "work_dir = \"{name}\"\n\
         [master]\nstate_dir = \"state-{name}\"\nlisten = \"127.0.0.1:0\"\nhttp = \"off\"\n\
         [[model]]\nabbr = \"random\"\ntype = \"hf\"\npath = \"model\"\nmax_seq_len = 256\ndtype = \"float32\"\n\
         device = \"{device}\"\nrun_cfg = {{ num_gpus = {gpus} }}\n{DATASETS}"
    );
    std::fs::write(&path, toml).map_err(|error| failed(error.to_string()))?;
    let output = Command::new(master).arg("--config").arg(&path).current_dir(root).stdin(Stdio::null()).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let why = said.lines().find(|line| line.starts_with("error")).or_else(|| said.lines().last());
        return Err(failed(format!("{}; {}", output.status, why.unwrap_or("it said nothing"))));
    }
    let runs = std::fs::read_dir(root.join(name)).map_err(|error| failed(error.to_string()))?;
    let mut files = runs.flatten().map(|run| run.path().join("predictions/random/answers_gen.json"));
    let answers = files.next().map_or_else(|| Err(std::io::ErrorKind::NotFound.into()), std::fs::read);
    let answers = answers.map_err(|error| failed(format!("its answers: {error}")))?;
    Ok(Done { table: String::from_utf8_lossy(&output.stdout).into_owned(), answers })
}

fn write_inputs(root: &Path, samples: usize) -> std::io::Result<()> {
    std::fs::create_dir_all(root.join("model"))?;
    MODEL.write(&root.join("model"))?;
    let mut rows = String::new();
    for at in 0..samples as u64 {
        let text = |of: u64, many: usize| words((at << 2) + of, many).trim_end().to_owned();
        let row = json!({ "question": text(1, 24), "a": text(2, 6), "b": text(3, 6), "label": at % 2 });
        // Writing to a string cannot fail.
        let _ = writeln!(rows, "{row}");
    }
    std::fs::write(root.join("rows.jsonl"), rows)
}

/// Weights from a seed, large enough for answers to differ.
fn write_weights(path: &Path) -> Result<(), TchError> {
    tch::manual_seed(20_261_126);
    let draw = |rows: u64, columns: u64, scale: f64| -> Result<Tensor, TchError> {
        let drawn = Tensor::f_randn([rows as i64, columns as i64], (Kind::Float, Device::Cpu))?;
        drawn.f_mul_scalar(scale)
    };
    let ones = || Tensor::f_ones([MODEL.hidden as i64], (Kind::Float, Device::Cpu));
    let (hidden, inner) = (MODEL.hidden, MODEL.inner);
    let narrow = hidden / MODEL.heads * MODEL.kv_heads;
    let (from_hidden, from_inner) = ((hidden as f64).powf(-0.5), (inner as f64).powf(-0.5));
    let mut all = vec![
        ("model.embed_tokens.weight".to_owned(), draw(MODEL.vocabulary, hidden, 0.3)?),
        ("model.norm.weight".to_owned(), ones()?),
    ];
    for layer in 0..MODEL.layers {
        for (name, rows, columns, scale) in [
            ("self_attn.q_proj", hidden, hidden, from_hidden),
            ("self_attn.k_proj", narrow, hidden, from_hidden),
            ("self_attn.v_proj", narrow, hidden, from_hidden),
            ("self_attn.o_proj", hidden, hidden, from_hidden),
            ("mlp.gate_proj", inner, hidden, from_hidden),
            ("mlp.up_proj", inner, hidden, from_hidden),
            ("mlp.down_proj", hidden, inner, from_inner),
        ] {
            all.push((format!("model.layers.{layer}.{name}.weight"), draw(rows, columns, scale)?));
        }
        for name in ["input_layernorm", "post_attention_layernorm"] {
            all.push((format!("model.layers.{layer}.{name}.weight"), ones()?));
        }
    }
    let named: Vec<(&str, &Tensor)> = all.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    Tensor::write_safetensors(&named, path)
}
