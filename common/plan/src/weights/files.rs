//! Files of a model's directories that are digested, and the names they are digested under.

use super::adapter::read_adapter;
use super::manifest::{FileMark, WeightsDigest};
use super::mark::{DigestExtent, mark};
use crate::ModelKind;
use compass_common::regular_file;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// The files of weights that transformers looks for, in its order.
const SINGLES: [&str; 2] = ["model.safetensors", "pytorch_model.bin"];

/// Ending of the name of an index of shards.
const INDEX: &str = ".index.json";

/// Files that say how a model is made and what its makers want of a generation.
const CONFIGURATION: [&str; 4] = ["config.json", "generation_config.json", "params.json", "model_config.pt"];

/// Files that a tokenizer is read from, beside every `*.model` and `additional_chat_templates/*.jinja`. config.json names
/// the tokenizer's class where nothing else does.
const TOKENIZER: [&str; 12] = [
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "encoder.json",
    "vocab.bpe",
    "tokenizer.spm",
    "chat_template.jinja",
    "chat_template.json",
];

/// Chat templates beside the first.
const TEMPLATES: &str = "additional_chat_templates";

/// The digest of a model whose weights and configuration are in `directory`, its tokenizer in `tokenizer`, and the adapter that is
/// merged into it, if there is one, in `adapter`.
///
/// # Errors
/// Something of it cannot be read, or no weights are there.
pub fn read(directory: &Path, tokenizer: &Path, adapter: Option<&Path>, kind: ModelKind) -> io::Result<WeightsDigest> {
    let mut files = read_small(directory, tokenizer)?;
    if let Some(adapter) = adapter {
        files.extend(read_adapter(adapter)?);
    }
    for name in weights(directory, kind)? {
        let content = regular_file::open(&directory.join(&name)).map_err(|error| named(&name, &error))?;
        files.insert(weights_name(&name), mark(&content, reading_of(&name))?);
    }
    Ok(WeightsDigest::new(files))
}

/// The marks of all files but the weights, by canonical name.
///
/// # Errors
/// One of them cannot be read.
pub fn read_small(directory: &Path, tokenizer: &Path) -> io::Result<BTreeMap<String, FileMark>> {
    let mut files = BTreeMap::new();
    let mut add = |role: &str, folder: &Path, name: &str| -> io::Result<()> {
        let path = folder.join(name);
        match regular_file::open(&path) {
            Ok(file) if file.metadata()?.len() > regular_file::LARGE => {
                Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("{name} is larger than such a file may be")))
            }
            Ok(file) => {
                let marked = mark(&file, DigestExtent::Whole)?;
                files.insert(format!("{role}/{name}"), marked);
                Ok(())
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::IsADirectory) => Ok(()),
            Err(error) => Err(named(name, &error)),
        }
    };
    for name in CONFIGURATION {
        add("config", directory, name)?;
    }
    for name in TOKENIZER {
        add("tokenizer", tokenizer, name)?;
    }
    for name in names_with(tokenizer, "model")? {
        add("tokenizer", tokenizer, &name)?;
    }
    for name in names_with(&tokenizer.join(TEMPLATES), "jinja")? {
        add("tokenizer", tokenizer, &format!("{TEMPLATES}/{name}"))?;
    }
    Ok(files)
}

/// The error of the file `name`.
fn named(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: {error}"))
}

/// The canonical name of a file of weights.
pub fn weights_name(file: &str) -> String {
    format!("weights/{file}")
}

/// Returns the extent to which a file of weights is digested, by its name.
pub fn reading_of(file: &str) -> DigestExtent {
    if file.ends_with(".safetensors") { DigestExtent::Tensors } else { DigestExtent::Ends }
}

/// Returns whether a file of a model's or of a tokenizer's directory is read whole, by an engine or by the planner:
/// configuration, tokenizer, the index of shards.
pub fn is_small(name: &str) -> bool {
    let ends = |ending: &str| name.ends_with(ending);
    match name.split_once('/') {
        Some((folder, _)) => folder == TEMPLATES && ends(".jinja"),
        None => {
            CONFIGURATION.contains(&name)
                || TOKENIZER.contains(&name)
                || ends(".model")
                || SINGLES.iter().any(|single| name.strip_prefix(single) == Some(INDEX))
        }
    }
}

/// The names of the files of weights in `directory`.
fn weights(directory: &Path, kind: ModelKind) -> io::Result<Vec<String>> {
    let mut names: BTreeSet<String> = names_in(directory)?.into_iter().collect();
    names.retain(|name| directory.join(name).exists());
    weights_among(&names, kind, &mut |name| regular_file::read(&directory.join(name), regular_file::SMALL))
}

/// As [`read`] finds them: the names of the weights among those of a directory, of which `read` reads small files.
///
/// # Errors
/// Those of `read`; no weights are there.
pub fn weights_among(
    names: &BTreeSet<String>,
    kind: ModelKind,
    read: &mut dyn FnMut(&str) -> io::Result<Vec<u8>>,
) -> io::Result<Vec<String>> {
    let named = |is_one: fn(&str) -> bool| names.iter().filter(|name| is_one(name)).cloned().collect();
    let names: Vec<String> = match kind {
        ModelKind::Hf => hugging_face(names, read)?,
        ModelKind::Llama => named(|name| name.starts_with("consolidated.") && name.ends_with(".pth")),
        ModelKind::InternLm => named(|name| name.starts_with("model_tp") && name.ends_with(".pt")),
        ModelKind::Endpoint | ModelKind::Echo | ModelKind::Sandbox => Vec::new(),
    };
    if names.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(names)
}

fn hugging_face(
    names: &BTreeSet<String>,
    read: &mut dyn FnMut(&str) -> io::Result<Vec<u8>>,
) -> io::Result<Vec<String>> {
    for single in SINGLES {
        if names.contains(single) {
            return Ok(vec![single.to_owned()]);
        }
        let index = format!("{single}{INDEX}");
        if !names.contains(&index) {
            continue;
        }
        let index = serde_json::from_slice::<Map<String, Value>>(&read(&index)?)?;
        let shards = index.get("weight_map").and_then(Value::as_object).into_iter().flat_map(Map::values);
        let shards: BTreeSet<&str> = shards.filter_map(Value::as_str).collect();
        return Ok(shards.into_iter().map(str::to_owned).collect());
    }
    Ok(Vec::new())
}

/// The names in a folder, sorted; none where there is no such folder.
fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        // A name that is not Unicode is none that an engine reads.
        names.extend(entry?.file_name().into_string().ok());
    }
    names.sort_unstable();
    Ok(names)
}

fn names_with(folder: &Path, ending: &str) -> io::Result<Vec<String>> {
    let mut names = names_in(folder)?;
    names.retain(|name| PathBuf::from(name).extension().is_some_and(|found| found == ending));
    Ok(names)
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
