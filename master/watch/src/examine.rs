//! Check that a checkpoint at rest is whole, and the digest of its content.
//!
//! A checkpoint is whole if an engine could load it, as far as sizes show: every shard of the index has the length that its
//! header claims.

use super::event::Examined;
use compass_common::regular_file;
use compass_plan::ModelKind;
use compass_plan::weights::read;
use compass_types::ids::Digest;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// Paths of a model of the configuration, for one checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelParts {
    pub kind: ModelKind,
    pub directory: PathBuf,
    pub tokenizer: PathBuf,
    /// Path of an adapter that is merged into the weights.
    pub adapter: Option<PathBuf>,
}

/// No header of a safetensors file is longer.
const MOST_HEADER: u64 = 100 << 20;

/// Reason why a checkpoint is not whole.
enum Lack {
    Words(String),
    Io(PathBuf, io::Error),
}

/// Examines a checkpoint for all models that are made of it.
pub fn examine(models: &[ModelParts]) -> Examined {
    let mut digests = Vec::new();
    for model in models {
        let whole = is_whole(model).and_then(|()| {
            let digest = read(&model.directory, &model.tokenizer, model.adapter.as_deref(), model.kind);
            digest.map_err(|error| Lack::Io(model.directory.clone(), error))
        });
        match whole {
            Ok(weights) => digests.push(weights.digest),
            Err(Lack::Words(words)) => return Examined::Lacks(words),
            Err(Lack::Io(path, error)) => return Examined::Lacks(format!("cannot read {}: {error}", path.display())),
        }
    }
    Examined::Whole(content_of(&digests))
}

/// The content of a checkpoint, by the digest of its weights for each model in the order of the configuration.
pub fn content_of(weights: &[Digest]) -> Digest {
    match weights {
        [only] => *only,
        several => Digest::of(&several.iter().flat_map(|digest| digest.0).collect::<Vec<u8>>()),
    }
}

fn is_whole(model: &ModelParts) -> Result<(), Lack> {
    let directory = &model.directory;
    match model.kind {
        ModelKind::Hf => {
            json(directory, "config.json")?;
            hugging_face(directory)?;
        }
        ModelKind::Llama => {
            json(directory, "params.json")?;
            let shards = numbered(directory, |name| name.starts_with("consolidated.") && name.ends_with(".pth"))?;
            for (at, shard) in shards.iter().enumerate() {
                let expected = format!("consolidated.{at:02}.pth");
                if *shard != expected {
                    return Err(Lack::Words(format!("{expected} is missing")));
                }
                zip(directory, shard)?;
            }
        }
        ModelKind::InternLm => {
            zip(directory, "model_config.pt")?;
            for shard in numbered(directory, |name| name.starts_with("model_tp") && name.ends_with(".pt"))? {
                zip(directory, &shard)?;
            }
        }
        ModelKind::Endpoint | ModelKind::Echo | ModelKind::Sandbox => {}
    }
    has_tokenizer(&model.tokenizer)
}

/// The weights of a Hugging Face directory, in the order in which engines look for them.
fn hugging_face(directory: &Path) -> Result<(), Lack> {
    for single in ["model.safetensors", "pytorch_model.bin"] {
        if directory.join(single).exists() {
            return shard(directory, single);
        }
        let index = format!("{single}.index.json");
        if !directory.join(&index).exists() {
            continue;
        }
        let map = json(directory, &index)?;
        let shards = map.get("weight_map").and_then(Value::as_object).into_iter().flat_map(Map::values);
        let shards: BTreeSet<&str> = shards.filter_map(Value::as_str).collect();
        if shards.is_empty() {
            return Err(Lack::Words(format!("{index} names no file")));
        }
        return shards.into_iter().try_for_each(|name| shard(directory, name));
    }
    Err(Lack::Words("it holds neither model.safetensors nor pytorch_model.bin, whole or in shards".into()))
}

/// One file of weights, by its ending.
fn shard(directory: &Path, name: &str) -> Result<(), Lack> {
    if name.ends_with(".safetensors") { safetensors(directory, name) } else { zip(directory, name) }
}

fn open(directory: &Path, name: &str) -> Result<(File, u64), Lack> {
    let path = directory.join(name);
    let opened = regular_file::open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
    opened.map(|(length, file)| (file, length)).map_err(|error| lack(path, name, error))
}

/// Returns why a file cannot be opened.
fn lack(path: PathBuf, name: &str, error: io::Error) -> Lack {
    match error.kind() {
        io::ErrorKind::NotFound => Lack::Words(format!("{name} is missing")),
        io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory | io::ErrorKind::FileTooLarge => {
            Lack::Words(format!("{name} is {error}"))
        }
        _ => Lack::Io(path, error),
    }
}

fn bytes(file: &File, at: u64, length: u64, path: impl Fn() -> PathBuf) -> Result<Vec<u8>, Lack> {
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, at).map_err(|error| Lack::Io(path(), error))?;
    Ok(bytes)
}

/// Checks that a safetensors file is as long as its header claims.
fn safetensors(directory: &Path, name: &str) -> Result<(), Lack> {
    let (file, length) = open(directory, name)?;
    let path = || directory.join(name);
    let short = |claimed: u64| Lack::Words(format!("{name} has {length} of {claimed} bytes"));
    if length < 8 {
        return Err(short(8));
    }
    let mut first = [0; 8];
    first.copy_from_slice(&bytes(&file, 0, 8, path)?);
    let header = u64::from_le_bytes(first);
    if header > MOST_HEADER {
        return Err(Lack::Words(format!("{name} has no header of safetensors")));
    }
    if length < 8 + header {
        return Err(Lack::Words(format!("{name} is cut short within its header, at {length} bytes")));
    }
    let tensors: Map<String, Value> = serde_json::from_slice(&bytes(&file, 8, header, path)?)
        .map_err(|error| Lack::Words(format!("the header of {name} cannot be read: {error}")))?;
    let ends = tensors.values().filter_map(|tensor| tensor.get("data_offsets")?.get(1)?.as_u64());
    let claimed = ends.max().unwrap_or(0).saturating_add(8 + header);
    match length.cmp(&claimed) {
        std::cmp::Ordering::Less => Err(short(claimed)),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => {
            Err(Lack::Words(format!("{name} has {length} bytes, {} more than its header says", length - claimed)))
        }
    }
}

/// Checks a file of `torch.save`: an archive, whose directory is its end. Older files have none: their sizes show nothing.
fn zip(directory: &Path, name: &str) -> Result<(), Lack> {
    let (file, length) = open(directory, name)?;
    let path = || directory.join(name);
    if length < 4 {
        return Err(Lack::Words(format!("{name} has {length} bytes")));
    }
    if bytes(&file, 0, 4, path)? != *b"PK\x03\x04" {
        return Ok(());
    }
    // The record of the end, and a comment of up to 64 KiB behind it.
    let tail = length.min(22 + 65_535);
    let end = bytes(&file, length - tail, tail, path)?;
    match end.windows(4).any(|window| window == b"PK\x05\x06") {
        true => Ok(()),
        false => Err(Lack::Words(format!("{name} is cut short: the end of its archive is missing"))),
    }
}

/// A JSON object that is there whole.
fn json(directory: &Path, name: &str) -> Result<Map<String, Value>, Lack> {
    let path = directory.join(name);
    let read = regular_file::read(&path, regular_file::LARGE).map_err(|error| lack(path, name, error))?;
    serde_json::from_slice(&read).map_err(|error| Lack::Words(format!("{name} cannot be read: {error}")))
}

/// Names of a directory that `is_one` takes, sorted; one at least.
fn numbered(directory: &Path, is_one: impl Fn(&str) -> bool) -> Result<Vec<String>, Lack> {
    let entries = std::fs::read_dir(directory).map_err(|error| Lack::Io(directory.to_owned(), error))?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_one(name)).collect();
    names.sort_unstable();
    if names.is_empty() {
        return Err(Lack::Words("it holds no weights".into()));
    }
    Ok(names)
}

/// A tokenizer in one of the forms that engines read. Trainers write it after the weights.
fn has_tokenizer(folder: &Path) -> Result<(), Lack> {
    let pairs = [("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")];
    let is_there = |name: &str| folder.join(name).is_file();
    if is_there("tokenizer.json") {
        return json(folder, "tokenizer.json").map(drop);
    }
    let is_model = |name: &str| name.ends_with(".model") || name == "tokenizer.spm" || name.ends_with(".tiktoken");
    if pairs.iter().any(|(vocab, merges)| is_there(vocab) && is_there(merges)) || numbered(folder, is_model).is_ok() {
        return Ok(());
    }
    let words =
        "it holds no tokenizer; where the trainer writes none, name one by `tokenizer_path` in the configuration";
    Err(Lack::Words(words.into()))
}
