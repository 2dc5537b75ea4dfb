//! Logits and greedy tokens compared with transformers', if a Python on this machine has it.

use super::families::{distance, families, largest, share_of_same};
use super::finding::{CheckStatus, Finding};
use super::setup::CheckSetup;
use crate::BareModel;
use crate::device::DeviceChoice;
use compass_common::regular_file;
use compass_plan::Dtype;
use compass_plan::engine::EngineFault;
use safetensors::SafeTensors;
use serde::Deserialize;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SECTION: &str = "transformers";

/// Script that Python runs, from its standard input.
const SCRIPT: &str = include_str!("transformers.py");

/// Number of tokens that are computed at once when the others are decoded, here and in the script.
const PROMPT: usize = 29;

/// Largest difference of a logit in float32, relative to the largest logit: sums go in another order.
const MOST_F32: f64 = 1e-4;

/// The same in bfloat16, per token on average, unless one of transformers' own ways is off by half as much. For single
/// tokens it means nothing: one that goes to another expert has other logits.
const MOST_BF16: f64 = 2e-2;

/// The same of a user's model, from transformers' eager attention, unless their other attention is off by half as much.
const MOST_OWN: f64 = 5e-2;

/// Family whose class comes with its checkpoint, and not with transformers.
const REMOTE: &str = "internlm2";

/// Report of the Python process about one folder, or about itself.
#[derive(Debug, Deserialize)]
struct Said {
    versions: Option<String>,
    name: Option<String>,
    error: Option<String>,
}

pub(super) fn run(setup: &CheckSetup, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    let root = std::env::temp_dir().join(format!("compass-transformers-{}", std::process::id()));
    let ran = compare_all(setup, &root, report);
    let _ = std::fs::remove_dir_all(&root);
    ran
}

fn compare_all(setup: &CheckSetup, root: &Path, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    for (name, config) in families().into_iter().filter(|(name, _)| *name != REMOTE) {
        write(&root.join(name), "config.json", &config.to_string())?;
    }
    let said = match ask(setup, root) {
        Ok(said) => said,
        Err(why) => {
            report(Finding::ended(SECTION, CheckStatus::Skipped, why));
            return Ok(());
        }
    };
    for said in said {
        let (Some(name), error) = (said.name, said.error) else {
            report(Finding::measured(SECTION, "computed by", said.versions.unwrap_or_default(), ""));
            continue;
        };
        match (name.as_str(), error) {
            (name, Some(error)) => {
                let name = if name.is_empty() { "the model" } else { name };
                let row = Finding::measured(SECTION, name, error, "");
                report(Finding { status: CheckStatus::Skipped, ..row });
            }
            ("", None) => own_model(setup, root, report)?,
            (name, None) => one_family(setup, &root.join(name), name, report)?,
        }
    }
    Ok(())
}

fn one_family(
    setup: &CheckSetup,
    folder: &Path,
    name: &str,
    report: &mut dyn FnMut(Finding),
) -> Result<(), EngineFault> {
    let golden = Golden::read(&folder.join("golden.safetensors"))?;
    let (tokens, wanted) = (golden.tokens("tokens")?, golden.logits("prefill")?);
    let greedy = golden.tokens("greedy")?;
    let mut model = BareModel::load(folder, Dtype::Float32, &setup.device, setup.threads)?;
    let prefilled = distance(&model.prefill(&tokens)?, &wanted);
    let decoded = distance(&model.decode(&tokens, PROMPT)?, &wanted);
    let off = largest(prefilled, decoded);
    report(
        Finding::measured(SECTION, format!("{name}: float32"), off, "")
            .judged(format!("at most {MOST_F32:.0e} of the largest logit"), Some(off <= MOST_F32)),
    );
    let same = model.greedy(&tokens, greedy.len())? == greedy;
    let said = if same { "equal" } else { "differ" };
    report(Finding::measured(SECTION, format!("{name}: greedy tokens"), said, "").judged("equal", Some(same)));
    let rows = model.vocabulary();
    drop(model);
    let mut theirs = 0.0;
    for way in ["eager", "sdpa", "steps"] {
        theirs = largest(theirs, mean_distance(&golden.logits(way)?, &wanted, rows));
    }
    // With config.json as transformers writes it.
    let mut model = BareModel::load(&folder.join("saved"), Dtype::Bfloat16, &setup.device, setup.threads)?;
    let off = |got: Vec<f32>| mean_distance(&got, &wanted, rows);
    let ours = largest(off(model.prefill(&tokens)?), off(model.decode(&tokens, PROMPT)?));
    let most = MOST_BF16.max(2.0 * theirs);
    report(
        Finding::measured(SECTION, format!("{name}: bfloat16, from their float32, mean of tokens"), ours, "")
            .judged(format!("at most {most:.3}; their own: {theirs:.4}"), Some(ours <= most)),
    );
    Ok(())
}

/// The model that is checked, in its own dtype.
fn own_model(setup: &CheckSetup, root: &Path, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    let golden = Golden::read(&root.join("golden.safetensors"))?;
    let (tokens, eager, sdpa) = (golden.tokens("tokens")?, golden.logits("eager")?, golden.logits("sdpa")?);
    let theirs = distance(&eager, &sdpa);
    let folder = Path::new(&setup.plan.path);
    let mut model = BareModel::load(folder, setup.plan.dtype, &setup.device, setup.threads)?;
    let got = model.prefill(&tokens)?;
    let ours = distance(&got, &eager);
    let most = if setup.plan.dtype == Dtype::Float32 { MOST_F32 } else { MOST_OWN.max(2.0 * theirs) };
    report(
        Finding::measured(SECTION, "the model, from their eager attention", ours, "")
            .judged(format!("at most {most:.0e}; their sdpa: {theirs:.1e}"), Some(ours <= most)),
    );
    let same = 100.0 * share_of_same(&got, &eager, model.vocabulary());
    report(Finding::measured(SECTION, "the model: best tokens that are the same", same, "%"));
    Ok(())
}

/// Largest difference of a logit of a token, relative to the largest logit of all, on average over the tokens.
fn mean_distance(got: &[f32], wanted: &[f32], vocabulary: usize) -> f64 {
    let most = wanted.iter().map(|logit| f64::from(logit.abs())).fold(1e-9, f64::max);
    let row = |(got, wanted): (&[f32], &[f32])| {
        got.iter().zip(wanted).map(|(got, wanted)| f64::from(got - wanted).abs()).fold(0.0, largest)
    };
    if got.len() != wanted.len() || got.is_empty() {
        return f64::NAN;
    }
    let rows = got.chunks(vocabulary).zip(wanted.chunks(vocabulary));
    rows.map(row).sum::<f64>() / (got.len() / vocabulary.max(1)).max(1) as f64 / most
}

/// Lets the Python process compute everything; returns its reports.
///
/// # Errors
/// The reason why no Python can, in words.
fn ask(setup: &CheckSetup, root: &Path) -> Result<Vec<Said>, String> {
    let program = std::env::var("COMPASS_PYTHON").unwrap_or_else(|_| "python3".into());
    let wanted = "wants a Python with torch, transformers and safetensors (COMPASS_PYTHON, else python3)";
    let mut command = Command::new(&program);
    let device = match setup.device {
        DeviceChoice::Cpu => "cpu".to_owned(),
        DeviceChoice::Cuda(ordinal) => format!("cuda:{ordinal}"),
        DeviceChoice::Auto => "cuda".to_owned(),
    };
    command.arg("-").arg(device).arg(root);
    if setup.random.is_none() {
        let model = std::path::absolute(&setup.plan.path).map_err(|error| format!("{}: {error}", setup.plan.path))?;
        command.arg(model).arg(dtype_name(setup.plan.dtype));
    }
    // Python finds its own libtorch. In the caller's folder a file of the user's may have the name of a module.
    command.env_remove("LD_LIBRARY_PATH").env_remove("LD_PRELOAD").env("HF_HUB_OFFLINE", "1").current_dir(root);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{wanted}; {program}: {error}"))?;
    // One that ends at once does not read it.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(SCRIPT.as_bytes()));
    let output = child.wait_with_output().map_err(|error| format!("{program}: {error}"))?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let said: Vec<Said> = stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if said.is_empty() || !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let last = stderr.lines().last().unwrap_or("it said nothing").to_owned();
        return Err(format!("{wanted}; {program}: {last}"));
    }
    Ok(said)
}

fn dtype_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Bfloat16 => "bfloat16",
        Dtype::Float16 => "float16",
        _ => "float32",
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), EngineFault> {
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(folder.join(name), text));
    written.map_err(|error| EngineFault::Missing(format!("{}: {error}", folder.display())))
}

/// Results of the Python process.
struct Golden {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Golden {
    fn read(path: &Path) -> Result<Self, EngineFault> {
        let bytes = regular_file::read(path, regular_file::LARGE);
        let bytes = bytes.map_err(|error| EngineFault::Missing(format!("{}: {error}", path.display())))?;
        Ok(Self { path: path.to_owned(), bytes })
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>, EngineFault> {
        let tensor = SafeTensors::deserialize(&self.bytes).and_then(|all| Ok(all.tensor(name)?.data().to_vec()));
        tensor.map_err(|error| EngineFault::Missing(format!("{}: {name}: {error}", self.path.display())))
    }

    fn logits(&self, name: &str) -> Result<Vec<f32>, EngineFault> {
        Ok(self.bytes(name)?.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    /// Token ids, which lie there as 64-bit integers.
    fn tokens(&self, name: &str) -> Result<Vec<u32>, EngineFault> {
        Ok(self.bytes(name)?.as_chunks::<8>().0.iter().map(|bytes| i64::from_le_bytes(*bytes) as u32).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_distance_is_that_of_tokens() {
        assert_eq!(mean_distance(&[1.0, -3.0, 0.0, 2.0], &[1.0, -4.0, 0.0, 1.0], 2), 0.25);
        assert_eq!(mean_distance(&[1.0, 2.0, 0.0, 4.0], &[1.0, 2.0, 0.0, 2.0], 2), 0.5);
        assert!(mean_distance(&[1.0], &[1.0, 2.0], 1).is_nan() && mean_distance(&[f32::NAN], &[1.0], 1).is_nan());
    }

    #[test]
    fn what_the_script_says_is_read_line_by_line() {
        let lines =
            ["{\"versions\": \"torch 2\"}", "{\"name\": \"llama\"}", "{\"name\": \"\", \"error\": \"no room\"}"];
        let said = lines.map(|line| serde_json::from_str::<Said>(line).unwrap());
        assert_eq!(said[0].versions.as_deref(), Some("torch 2"));
        assert_eq!((said[1].name.as_deref(), said[1].error.as_deref()), (Some("llama"), None));
        assert_eq!((said[2].name.as_deref(), said[2].error.as_deref()), (Some(""), Some("no room")));
    }
}
