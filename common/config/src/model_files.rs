//! Where a model's files are, and whether they are there.

use super::check::Check;
use super::fields::{Fields, text};
use super::hub;
use super::paths;
use super::tree::Node;
use compass_plan::ModelKind;
use compass_plan::weights::adapter;
use compass_types::path_rules::map_path;
use std::path::{Path, PathBuf};

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
    let path = node.and_then(|node| {
        let path = resolved(check, "path", node)?;
        let (file, _) = files_of(kind);
        holds(check, node, &path, file).then_some(path)
    });
    let path = path.filter(|path| node.is_none_or(|node| holds_weights(check, node, path, kind)));
    match (tokenizer, node, path) {
        (Some(tokenizer), _, path) => {
            let tokenizer_path = resolved(check, "tokenizer_path", tokenizer).map(directory_of);
            let tokenizer_path = tokenizer_path.filter(|path| holds_tokenizer(check, tokenizer, path));
            Some(ModelFiles { path: path?, tokenizer_path: tokenizer_path? })
        }
        (None, Some(node), Some(path)) => {
            holds_tokenizer(check, node, &path).then(|| ModelFiles { tokenizer_path: path.clone(), path })
        }
        _ => None,
    }
}

/// Reads `peft_path`: a directory that `peft` saved.
pub(super) fn adapter(check: &mut Check, node: &Node, kind: Option<ModelKind>) -> Option<PathBuf> {
    if kind.is_some_and(|kind| kind != ModelKind::Hf) {
        let help = "adapters are merged into Hugging Face models: write `type = \"hf\"`, or merge it with peft";
        check.error(node.span, "`peft_path` of a model that is not a Hugging Face directory".into(), Some(help.into()));
        return None;
    }
    let path = resolved(check, "peft_path", node)?;
    if !holds(check, node, &path, adapter::CONFIG) {
        return None;
    }
    let is_elsewhere = is_elsewhere(check, &path.display().to_string());
    if path.is_dir() && !is_elsewhere && !check.unselected && adapter::weights_of(&path).is_none() {
        let message = format!(
            "`{}` holds neither adapter_model.safetensors nor adapter_model.bin",
            node.text().unwrap_or_default()
        );
        check.needed(node.span, message, Some("name a directory that `peft` saved; was it downloaded whole?".into()));
    }
    Some(path)
}

/// The directory of a `tokenizer.model`, which is how configurations for Meta's and InternLM's code name a tokenizer.
fn directory_of(path: PathBuf) -> PathBuf {
    match path.parent() {
        Some(directory) if path.is_file() => directory.to_path_buf(),
        _ => path,
    }
}

/// Whether a pool has the path under a name of its own, where it is then looked for.
fn is_elsewhere(check: &Check, path: &str) -> bool {
    map_path(&check.elsewhere, path).is_some()
}

/// What every directory of a kind holds, and which files its weights may begin in.
fn files_of(kind: ModelKind) -> (&'static str, &'static [&'static str]) {
    match kind {
        ModelKind::Hf | ModelKind::Echo | ModelKind::Sandbox => (
            "config.json",
            &["model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json"],
        ),
        ModelKind::Llama => ("params.json", &["consolidated.00.pth"]),
        ModelKind::InternLm => ("model_config.pt", &["model_tp0_pp0.pt"]),
    }
}

/// A directory on this host, there or not.
fn resolved(check: &mut Check, key: &str, node: &Node) -> Option<PathBuf> {
    let written = text(check, key, node)?;
    if is_elsewhere(check, written) {
        return Some(written.into());
    }
    if written.contains("s3://") {
        if check.unselected {
            return None;
        }
        let message = format!("{} is not yet supported", check.quoted(key, node));
        let help = "copy the model to a directory on this host and name that";
        return check.needed(node.span, message, Some(help.into())).then(|| written.into());
    }
    let path = paths::resolve(check, key, node)?;
    let written = node.text().unwrap_or_default();
    if path.exists() || !looks_like_hub_id(written) {
        return Some(path);
    }
    if let Some((name, _)) = path.to_str().and_then(|path| path.rsplit_once('@'))
        && Path::new(name).exists()
    {
        return Some(name.into());
    }
    Some(hub::model(written, &check.hub_caches()).unwrap_or(path))
}

/// Whether `path` is a directory with `file` in it; if not, that is reported, for a model of this job.
fn holds(check: &mut Check, node: &Node, path: &Path, file: &str) -> bool {
    if is_told(check, node)
        || check.unselected
        || path.join(file).is_file()
        || is_elsewhere(check, &path.display().to_string())
    {
        return true;
    }
    let written = node.text().unwrap_or_default();
    let (message, help) = if path.is_dir() {
        let help = match file {
            "tokenizer.json" => {
                format!("name a Hugging Face directory with {file}; `tokenizer_path` may name another directory")
            }
            "config.json" if path.join("params.json").is_file() => {
                "this is a directory as Meta distributes it: write `type = \"llama\"`".into()
            }
            "config.json" if path.join("model_config.pt").is_file() => {
                "this is a directory of InternLM's training code: write `type = \"internlm\"`".into()
            }
            "config.json" => format!("name a Hugging Face directory with {file}"),
            adapter::CONFIG => "name a directory that `peft` saved".into(),
            _ if path.join("config.json").is_file() => "this is a Hugging Face directory: write `type = \"hf\"`".into(),
            _ => format!("name a directory with {file}"),
        };
        (format!("`{written}` holds no {file}"), help)
    } else if looks_like_hub_id(written) {
        let caches: Vec<String> = check.hub_caches().iter().map(|cache| format!("`{}`", cache.display())).collect();
        let help = format!(
            "looked for `{}` and for a model of that name in the hub cache {}; with a network, `hf download {written}` \
             fetches it",
            path.display(),
            caches.join(", ")
        );
        (format!("no directory `{written}`"), help)
    } else {
        (format!("no directory `{written}`"), format!("looked for `{}`", path.display()))
    };
    check.needed(node.span, message, Some(help))
}

/// Whether it has been said by now that there is no such directory, of a job that will not be started.
fn is_told(check: &Check, node: &Node) -> bool {
    check.plans_only && node.text().is_some_and(|written| written.contains("s3://"))
}

/// Whether there are weights to load in `path`; if not, that is reported, for a model of this job.
fn holds_weights(check: &mut Check, node: &Node, path: &Path, kind: ModelKind) -> bool {
    let (_, known) = files_of(kind);
    let is_there = known.iter().any(|file| path.join(file).is_file());
    // That the directory is not there has been said by now, where nothing will be started.
    let is_absent = check.plans_only && !path.is_dir();
    if check.unselected || is_there || is_absent || is_elsewhere(check, &path.display().to_string()) {
        return true;
    }
    let written = node.text().unwrap_or_default();
    let message = match known {
        [one] => format!("`{written}` holds no {one}"),
        _ => format!("`{written}` holds neither model.safetensors nor pytorch_model.bin, whole or in shards"),
    };
    let help = "name a directory with the model's weights; was it downloaded whole?";
    check.needed(node.span, message, Some(help.into()))
}

/// Whether there is a tokenizer in `path`, in one of the forms that engines read; if not, that is reported.
fn holds_tokenizer(check: &mut Check, node: &Node, path: &Path) -> bool {
    let whole = ["tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "tokenizer.spm"];
    let pairs = [("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")];
    let there = |file: &str| path.join(file).is_file();
    // The only one that ends so, as InternLM's are called.
    let models = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    if models.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "model")).count() == 1 {
        return true;
    }
    if whole.iter().any(|file| there(file)) || pairs.iter().any(|(vocab, merges)| there(vocab) && there(merges)) {
        return true;
    }
    holds(check, node, path, "tokenizer.json")
}

/// `organisation/name`: a path to a person, a hub id to transformers.
/// Whether it may be `owner/name`.
pub(super) fn looks_like_hub_id(written: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.starts_with('~');
    matches!(written.split_once('/'), Some((owner, name)) if plain(owner) && plain(name) && !name.contains('/'))
}
