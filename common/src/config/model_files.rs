//! Where a model's files are, and whether they are there.

use super::check::Check;
use super::fields::{Fields, text};
use super::paths;
use super::tree::Node;
use crate::plan::ModelKind;
use std::path::PathBuf;

/// The directories of a model.
#[derive(Debug, Default)]
pub(super) struct ModelFiles {
    pub(super) path: PathBuf,
    pub(super) tokenizer_path: PathBuf,
}

/// Reads `path` and `tokenizer_path`. A directory without its file is reported only for a model that is served.
pub(super) fn read(check: &mut Check, fields: &mut Fields<'_>, kind: Option<ModelKind>) -> Option<ModelFiles> {
    let tokenizer = fields.get("tokenizer_path").filter(|node| !node.is_empty());
    let Some(kind) = kind else {
        fields.get("path");
        return None;
    };
    if kind == ModelKind::Echo {
        let mut path_of = |node: Option<&Node>, key| match node {
            Some(node) => paths::resolve(check, key, node),
            None => Some(PathBuf::new()),
        };
        let path = path_of(fields.get("path"), "path");
        let tokenizer_path = path_of(tokenizer, "tokenizer_path");
        return Some(ModelFiles { path: path?, tokenizer_path: tokenizer_path? });
    }
    let node = fields.require(check, "path", "\"models/...\"");
    let path = node.and_then(|node| directory(check, "path", node, "config.json"));
    let path = path.filter(|path| node.is_none_or(|node| holds_weights(check, node, path)));
    match (tokenizer, node, path) {
        (Some(tokenizer), _, path) => {
            let tokenizer_path = directory(check, "tokenizer_path", tokenizer, "tokenizer.json");
            Some(ModelFiles { path: path?, tokenizer_path: tokenizer_path? })
        }
        (None, Some(node), Some(path)) => {
            holds(check, node, &path, "tokenizer.json").then(|| ModelFiles { tokenizer_path: path.clone(), path })
        }
        _ => None,
    }
}

/// A directory that holds `file`.
fn directory(check: &mut Check, key: &str, node: &Node, file: &str) -> Option<PathBuf> {
    let written = text(check, key, node)?;
    if written.contains("s3://") {
        check.value_not_yet(key, node, "copy the model to a directory of this host and name that");
        return None;
    }
    let path = paths::resolve(check, key, node)?;
    holds(check, node, &path, file).then_some(path)
}

/// Whether `path` is a directory with `file` in it; if not, that is reported, for a model of this job.
fn holds(check: &mut Check, node: &Node, path: &std::path::Path, file: &str) -> bool {
    if check.unselected || path.join(file).is_file() {
        return true;
    }
    let written = node.text().unwrap_or_default();
    let (message, help) = if path.is_dir() {
        let key = if file == "tokenizer.json" { "; `tokenizer_path` may name another directory" } else { "" };
        (format!("`{written}` holds no {file}"), format!("name a Hugging Face directory with {file}{key}"))
    } else if looks_like_hub_id(written) {
        let help = format!("looked for `{}`; a hub id is not yet supported: name a local directory", path.display());
        (format!("no directory `{written}`"), help)
    } else {
        (format!("no directory `{written}`"), format!("looked for `{}`", path.display()))
    };
    check.error(node.span, message, Some(help));
    false
}

/// Whether there are weights to load in `path`; if not, that is reported, for a model of this job.
fn holds_weights(check: &mut Check, node: &Node, path: &std::path::Path) -> bool {
    let known = ["model.safetensors", "model.safetensors.index.json"];
    if check.unselected || known.iter().any(|file| path.join(file).is_file()) {
        return true;
    }
    let written = node.text().unwrap_or_default();
    let pickled = ["pytorch_model.bin", "pytorch_model.bin.index.json"].iter().any(|file| path.join(file).is_file());
    let help = match pickled {
        true => "its weights are pickled; save them as safetensors with transformers' `save_pretrained`",
        false => "name a Hugging Face directory with its weights; was it downloaded whole?",
    };
    let message = format!("`{written}` holds neither model.safetensors nor model.safetensors.index.json");
    check.error(node.span, message, Some(help.into()));
    false
}

/// `organisation/name`: a path to a person, a hub id to transformers.
fn looks_like_hub_id(written: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.starts_with('~');
    matches!(written.split_once('/'), Some((owner, name)) if plain(owner) && plain(name) && !name.contains('/'))
}
