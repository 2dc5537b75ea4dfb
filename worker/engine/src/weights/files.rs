//! Files of a checkpoint in a directory, in the layouts of transformers, of Meta and of InternLM's training code.

use super::MappedFile;
use crate::config::read_json;
use crate::fault::{file_fault, missing_fault};
use compass_plan::ModelKind;
use compass_plan::engine::EngineFault;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The files of a checkpoint, opened.
pub(super) struct Files {
    /// Path for messages: the single file, the index of the shards, or the directory.
    pub(super) root: PathBuf,
    pub(super) files: Vec<MappedFile>,
    /// Set if several files may have a part each of one tensor, in the order of the files.
    pub(super) parallel: bool,
}

#[derive(Deserialize)]
struct ShardIndex {
    weight_map: BTreeMap<String, String>,
}

/// Names in transformers' order: safetensors first.
const SINGLES: [&str; 2] = ["model.safetensors", "pytorch_model.bin"];

/// Suffix of an index of shards, after the single file's name.
const INDEX: &str = ".index.json";

/// Opens the files of a model of `kind`.
///
/// # Errors
/// [`EngineFault::Missing`] if files are missing, [`EngineFault::Model`] if one is damaged.
pub(super) fn open(directory: &Path, kind: ModelKind) -> Result<Files, EngineFault> {
    match kind {
        ModelKind::Hf | ModelKind::Endpoint | ModelKind::Echo | ModelKind::Sandbox => hugging_face(directory),
        ModelKind::Llama => meta(directory),
        ModelKind::InternLm => internlm(directory),
    }
}

fn open_all(directory: &Path, names: &[String]) -> Result<Vec<MappedFile>, EngineFault> {
    names.iter().map(|name| MappedFile::open(&directory.join(name))).collect()
}

/// Opens `model.safetensors`, or the shards in `model.safetensors.index.json`, or the same of `pytorch_model.bin`.
fn hugging_face(directory: &Path) -> Result<Files, EngineFault> {
    // If neither exists, the first name is reported as missing.
    let (mut root, mut names) = (directory.join(SINGLES[0]), vec![SINGLES[0].to_owned()]);
    for single in SINGLES {
        if directory.join(single).exists() {
            (root, names) = (directory.join(single), vec![single.to_owned()]);
            break;
        }
        let path = directory.join(format!("{single}{INDEX}"));
        if let Some(index) = read_json::<ShardIndex>(&path)? {
            let shards: BTreeSet<String> = index.weight_map.into_values().collect();
            if let Some(name) = shards.iter().find(|name| !is_plain(name)) {
                return Err(file_fault(&path, format!("it names the shard `{name}`, which is not a file beside it")));
            }
            (root, names) = (path, shards.into_iter().collect());
            break;
        }
    }
    Ok(Files { root, files: open_all(directory, &names)?, parallel: false })
}

/// Returns whether a name is the name of a file in the same directory.
fn is_plain(name: &str) -> bool {
    let mut components = Path::new(name).components();
    matches!((components.next(), components.next()), (Some(Component::Normal(_)), None))
}

/// Opens `consolidated.00.pth` and so on, one for each rank of Meta's model parallelism.
fn meta(directory: &Path) -> Result<Files, EngineFault> {
    let there = |rank: &usize| directory.join(format!("consolidated.{rank:02}.pth")).exists();
    let count = names_in(directory)?.iter().filter(|name| is_consolidated(name)).count();
    let ranks: Vec<usize> = (0..count.max(1)).collect();
    if let Some(missing) = ranks.iter().find(|rank| !there(rank)) {
        let what = match count {
            0 => "no such weights file: a directory as Meta distributes it has one or more of them".to_owned(),
            _ => format!("no such weights file, but {count} others of its kind; was the model downloaded whole?"),
        };
        return Err(missing_fault(&directory.join(format!("consolidated.{missing:02}.pth")), what));
    }
    let names: Vec<String> = ranks.iter().map(|rank| format!("consolidated.{rank:02}.pth")).collect();
    Ok(Files { root: directory.to_path_buf(), files: open_all(directory, &names)?, parallel: true })
}

fn is_consolidated(name: &str) -> bool {
    let rank = name.strip_prefix("consolidated.").and_then(|rest| rest.strip_suffix(".pth"));
    rank.is_some_and(|rank| rank.len() == 2 && rank.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Opens `model_tp<T>_pp<P>.pt` for each rank T of tensor parallelism and each P of the pipeline, whose layers are
/// numbered from 0 in every rank of the pipeline.
fn internlm(directory: &Path) -> Result<Files, EngineFault> {
    let ranks: BTreeSet<(usize, usize)> = names_in(directory)?.iter().filter_map(|name| ranks_of(name)).collect();
    let tensor = ranks.iter().map(|(tensor, _)| tensor + 1).max().unwrap_or(1);
    let pipeline = ranks.iter().map(|(_, pipeline)| pipeline + 1).max().unwrap_or(1);
    let mut files = Vec::new();
    let mut layers = 0;
    for stage in 0..pipeline {
        let mut opened = Vec::new();
        for rank in 0..tensor {
            let path = directory.join(format!("model_tp{rank}_pp{stage}.pt"));
            if !ranks.contains(&(rank, stage)) {
                let what = "no such weights file: InternLM's training code writes one for each rank";
                return Err(missing_fault(&path, what));
            }
            opened.push(MappedFile::open(&path)?);
        }
        let numbers = opened.iter().flat_map(MappedFile::names).filter_map(|name| layer_number(name));
        let count = numbers.map(|(_, number, _)| number.saturating_add(1)).max().unwrap_or(0);
        for mut file in opened {
            file.rename(|name| shifted(name.strip_prefix("model.").unwrap_or(name), layers))?;
            files.push(file);
        }
        layers = count.saturating_add(layers);
    }
    Ok(Files { root: directory.to_path_buf(), files, parallel: true })
}

/// Returns the two ranks in `model_tp0_pp1.pt`.
fn ranks_of(name: &str) -> Option<(usize, usize)> {
    let (tensor, pipeline) = name.strip_prefix("model_tp")?.strip_suffix(".pt")?.split_once("_pp")?;
    // Ranks of five digits do not occur, and would make the loop too long.
    let rank = |digits: &str| digits.parse::<u16>().ok().map(usize::from);
    Some((rank(tensor)?, rank(pipeline)?))
}

/// Splits `blocks.3.norm1.weight` into the part before the number, the number, and the part after it.
fn layer_number(name: &str) -> Option<(&str, usize, &str)> {
    let at = name.match_indices('.').map(|(at, _)| at).find(|&at| {
        let number = name[at + 1..].split('.').next().unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && at + 1 + number.len() < name.len()
    })?;
    let (number, after) = name[at + 1..].split_once('.')?;
    Some((&name[..at], number.parse().ok()?, after))
}

/// Returns the name with its layer number increased by `by`.
fn shifted(name: &str, by: usize) -> String {
    match layer_number(name) {
        Some((before, number, after)) => format!("{before}.{}.{after}", number.saturating_add(by)),
        None => name.to_owned(),
    }
}

fn names_in(directory: &Path) -> Result<Vec<String>, EngineFault> {
    let entries = std::fs::read_dir(directory).map_err(|error| missing_fault(directory, error))?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shard_and_layer_names_are_parsed() {
        assert_eq!(ranks_of("model_tp3_pp12.pt"), Some((3, 12)));
        assert_eq!(ranks_of("model_config.pt"), None);
        assert!(is_consolidated("consolidated.07.pth") && !is_consolidated("consolidated.safetensors"));
        assert_eq!(shifted("blocks.3.mlp.w1.weight", 10), "blocks.13.mlp.w1.weight");
        assert_eq!(shifted("embedding.weight", 10), "embedding.weight");
        assert!(is_plain("a-00001-of-2.safetensors"));
        assert!(!is_plain("../a") && !is_plain("/a") && !is_plain("a/b") && !is_plain(""));
    }
}
