//! Location of a model's files, and checks that they are there.

use super::quantised;
use crate::read::datasets::hub::{self, entries};
use crate::read::fields::{Fields, text};
use crate::read::paths;
use crate::report::check::Check;
use crate::syntax::tree::Node;
use compass_common::regular_file;
use compass_plan::ModelKind;
use compass_plan::weights::adapter;
use compass_plan::weights::files::weights_among;
use compass_settings::{RemoteFault, RemoteFolder, RemoteModel, is_on_s3};
use compass_types::path_rules::map_path;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The directories of a model.
#[derive(Debug, Default)]
pub(crate) struct ModelFiles {
    pub(crate) path: PathBuf,
    pub(crate) tokenizer_path: PathBuf,
    /// Parts of it that are elsewhere.
    pub(crate) remote: Option<RemoteModel>,
}

/// Location of a directory.
#[derive(Clone, Debug)]
enum Found {
    /// On this host, if it is there.
    Here(PathBuf),
    /// In an object store, or on the hub.
    Elsewhere(Arc<dyn RemoteFolder>),
    /// Not looked at from here: a pool has it under a name of its own, or it has been said that it cannot be read.
    Unread(PathBuf),
}

impl Found {
    /// Returns the path that the plan holds.
    fn path(&self) -> PathBuf {
        match self {
            Self::Here(path) | Self::Unread(path) => path.clone(),
            Self::Elsewhere(folder) => folder.location().into(),
        }
    }

    /// The directory on this host with its small files.
    fn small(&self) -> PathBuf {
        match self {
            Self::Here(path) | Self::Unread(path) => path.clone(),
            Self::Elsewhere(folder) => folder.small().to_owned(),
        }
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Self::Here(path) => path.join(name).is_file(),
            Self::Elsewhere(folder) => folder.has(name),
            Self::Unread(_) => true,
        }
    }

    /// The names of its files, as far as they can be seen from here.
    fn names(&self) -> Vec<String> {
        match self {
            Self::Here(path) => {
                let names = entries(path).into_iter().filter_map(|path| path.file_name()?.to_str().map(str::to_owned));
                names.collect()
            }
            Self::Elsewhere(folder) => folder.names(),
            Self::Unread(_) => Vec::new(),
        }
    }

    fn elsewhere(&self) -> Option<&Arc<dyn RemoteFolder>> {
        match self {
            Self::Elsewhere(folder) => Some(folder),
            _ => None,
        }
    }
}

/// Files of a directory that are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Model(ModelKind),
    Tokenizer,
}

/// Reads `path` and `tokenizer_path`. A directory without its file is reported only for a model that is served.
pub(crate) fn read(check: &mut Check, fields: &mut Fields<'_>, kind: Option<ModelKind>) -> Option<ModelFiles> {
    let tokenizer = fields.get("tokenizer_path").filter(|node| !node.is_empty());
    let Some(kind) = kind else {
        fields.get("path");
        return None;
    };
    if kind == ModelKind::Endpoint {
        if let Some(node) = fields.get("path").filter(|node| !node.is_empty()) {
            let help = "remove it: `endpoint.model` names the model at the server";
            check.error(node.span, "`path` of a model behind an endpoint".into(), Some(help.into()));
            return None;
        }
        let Some(node) = tokenizer else { return Some(ModelFiles::default()) };
        let found = resolved(check, "tokenizer_path", node, Part::Tokenizer).map(directory_of)?;
        let small = || RemoteModel { folder: None, path: PathBuf::new(), tokenizer_path: found.small() };
        let remote = found.elsewhere().is_some().then(small);
        return Some(ModelFiles { path: PathBuf::new(), tokenizer_path: found.path(), remote });
    }
    if kind == ModelKind::Echo {
        let mut path_of = |node: Option<&Node>, key| match node {
            Some(node) => paths::resolve(check, key, node),
            None => Some(PathBuf::new()),
        };
        let path = path_of(fields.get("path"), "path");
        let tokenizer_path = path_of(tokenizer, "tokenizer_path");
        return Some(ModelFiles { path: path?, tokenizer_path: tokenizer_path?, remote: None });
    }
    let node = fields.require(check, "path", "\"models/...\"");
    let path = node.and_then(|node| {
        let path = resolved(check, "path", node, Part::Model(kind))?;
        let (file, known) = files_of(kind);
        let has_weights = known.iter().any(|file| path.has(file));
        if !has_weights && !check.unselected && quantised::is_gguf(check, node, &path.path(), &path.names()) {
            return None;
        }
        holds(check, node, &path, file).then_some(path)
    });
    let path = path.filter(|path| node.is_none_or(|node| holds_weights(check, node, path, kind)));
    let path = path.filter(|path| {
        let is_read = kind == ModelKind::Hf && !check.unselected;
        node.is_none_or(|node| !is_read || quantised::can_load(check, node, &path.small()))
    });
    let (path, tokenizer_path) = match (tokenizer, node, path) {
        (Some(tokenizer), _, path) => {
            let found = resolved(check, "tokenizer_path", tokenizer, Part::Tokenizer).map(directory_of);
            let found = found.filter(|found| holds_tokenizer(check, tokenizer, found));
            (path?, found?)
        }
        (None, Some(node), Some(path)) => (holds_tokenizer(check, node, &path).then(|| path.clone())?, path),
        _ => return None,
    };
    let is_here = path.elsewhere().is_none() && tokenizer_path.elsewhere().is_none();
    let remote = (!is_here).then(|| RemoteModel {
        folder: path.elsewhere().cloned(),
        path: path.small(),
        tokenizer_path: tokenizer_path.small(),
    });
    Some(ModelFiles { path: path.path(), tokenizer_path: tokenizer_path.path(), remote })
}

/// Location of an adapter.
#[derive(Debug, Default)]
pub(crate) struct Adapter {
    /// Path that the plan holds.
    pub(crate) path: Option<PathBuf>,
    /// Its copy on this host, where it is elsewhere.
    pub(crate) fetched: Option<PathBuf>,
}

/// Reads `peft_path`: a directory that `peft` saved.
pub(crate) fn adapter(check: &mut Check, node: &Node, kind: Option<ModelKind>) -> Option<Adapter> {
    let here = |path: PathBuf| Some(Adapter { path: Some(path), fetched: None });
    if kind.is_some_and(|kind| kind != ModelKind::Hf) {
        let help = "adapters are merged into Hugging Face models: write `type = \"hf\"`, or merge it with peft";
        check.error(node.span, "`peft_path` of a model that is not a Hugging Face directory".into(), Some(help.into()));
        return None;
    }
    let written = text(check, "peft_path", node)?;
    if is_elsewhere(check, written) {
        return here(written.into());
    }
    if check.unselected && is_on_s3(written) {
        return None;
    }
    if is_on_s3(written) {
        let remote = check.environment.remote.clone().ok_or_else(|| nowhere(check, "peft_path", node, "the adapter"));
        return fetched_adapter(check, node, remote.and_then(|remote| remote.0.adapter(written)));
    }
    let path = paths::resolve(check, "peft_path", node)?;
    let remote = check.environment.remote.clone().filter(|remote| !check.unselected && remote.0.offline().is_none());
    if !path.exists() && looks_like_hub_id(written) {
        if let Some(local) = hub::model(written, &check.environment.hub_caches())
            && local.join(adapter::CONFIG).is_file()
            && adapter::weights_of(&local).is_some()
        {
            return here(local);
        }
        if let Some(remote) = remote {
            let found = remote.0.adapter(&format!("{}{written}", hub::SCHEME));
            let found = found.map_err(|fault| not_on_hub(written, "an adapter", &path, fault));
            return fetched_adapter(check, node, found);
        }
    }
    if !holds(check, node, &Found::Here(path.clone()), adapter::CONFIG) {
        return None;
    }
    if path.is_dir() && !check.unselected && adapter::weights_of(&path).is_none() {
        let written = node.text().unwrap_or_default();
        let message = format!("`{written}` holds neither adapter_model.safetensors nor adapter_model.bin");
        check.needed(node.span, message, Some("name a directory that `peft` saved; was it downloaded whole?".into()));
    }
    here(path)
}

/// An adapter that is elsewhere; why it cannot be had is reported.
fn fetched_adapter(check: &mut Check, node: &Node, found: Result<(String, PathBuf), RemoteFault>) -> Option<Adapter> {
    match found {
        Ok((place, copy)) => Some(Adapter { path: Some(place.into()), fetched: Some(copy) }),
        Err(RemoteFault { message, help }) => {
            check.needed(node.span, message, Some(help));
            None
        }
    }
}

/// Returns the fault of a path in an object store where the program fetches nothing.
fn nowhere(check: &Check, key: &str, node: &Node, what: &str) -> RemoteFault {
    RemoteFault {
        message: format!("{} is in an object store, from which nothing is fetched here", check.quoted(key, node)),
        help: format!("copy {what} to a directory on this host and name that"),
    }
}

fn not_on_hub(written: &str, what: &str, path: &Path, fault: RemoteFault) -> RemoteFault {
    let RemoteFault { message, help } = fault;
    RemoteFault {
        message: format!("no directory `{written}`, and the hub does not give {what} of that name: {message}"),
        help: format!("looked for `{}` first; {help}", path.display()),
    }
}

/// The directory of a `tokenizer.model`, which is how configurations for Meta's and InternLM's code name a tokenizer.
fn directory_of(found: Found) -> Found {
    match &found {
        Found::Here(path) if path.is_file() => match path.parent() {
            Some(directory) => Found::Here(directory.to_path_buf()),
            None => found,
        },
        _ => found,
    }
}

/// Returns `true` if a pool has the path under a name of its own, where it is then looked for.
fn is_elsewhere(check: &Check, path: &str) -> bool {
    map_path(&check.environment.elsewhere, path).is_some()
}

/// Returns the file that every directory of a kind holds, and the files in which its weights may begin.
fn files_of(kind: ModelKind) -> (&'static str, &'static [&'static str]) {
    match kind {
        ModelKind::Hf | ModelKind::Endpoint | ModelKind::Echo | ModelKind::Sandbox => (
            "config.json",
            &["model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json"],
        ),
        ModelKind::Llama => ("params.json", &["consolidated.00.pth"]),
        ModelKind::InternLm => ("model_config.pt", &["model_tp0_pp0.pt"]),
    }
}

/// Locates the directory of `node`, there or not.
fn resolved(check: &mut Check, key: &str, node: &Node, part: Part) -> Option<Found> {
    let written = text(check, key, node)?;
    if is_elsewhere(check, written) {
        return Some(Found::Unread(written.into()));
    }
    if is_on_s3(written) {
        if check.unselected {
            return None;
        }
        return match check.environment.remote.clone() {
            Some(remote) => fetched(check, node, remote.0.folder(written)),
            None => {
                let fault = nowhere(check, key, node, "the model");
                fetched(check, node, Err(fault))
            }
        };
    }
    let path = paths::resolve(check, key, node)?;
    if path.exists() || !looks_like_hub_id(written) {
        return Some(Found::Here(path));
    }
    if let Some((name, _)) = path.to_str().and_then(|path| path.rsplit_once('@'))
        && Path::new(name).exists()
    {
        return Some(Found::Here(name.into()));
    }
    let local = hub::model(written, &check.environment.hub_caches());
    if let Some(local) = &local
        && is_whole(local, part)
    {
        return Some(Found::Here(local.clone()));
    }
    let remote = check.environment.remote.clone().filter(|remote| !check.unselected && remote.0.offline().is_none());
    match remote {
        Some(remote) => {
            let found = remote.0.folder(&format!("{}{written}", hub::SCHEME));
            fetched(check, node, found.map_err(|fault| not_on_hub(written, "a model", &path, fault)))
        }
        None => Some(Found::Here(local.unwrap_or(path))),
    }
}

/// A folder that is elsewhere; why it cannot be had is reported.
fn fetched(check: &mut Check, node: &Node, found: Result<Arc<dyn RemoteFolder>, RemoteFault>) -> Option<Found> {
    match found {
        Ok(folder) => Some(Found::Elsewhere(folder)),
        Err(RemoteFault { message, help }) => {
            let written = node.text().unwrap_or_default();
            check.needed(node.span, message, Some(help)).then(|| Found::Unread(written.into()))
        }
    }
}

/// Returns `true` if a snapshot of the hub has all that is read of it: it may have been fetched in part.
fn is_whole(folder: &Path, part: Part) -> bool {
    match part {
        Part::Tokenizer => has_tokenizer(&Found::Here(folder.to_owned())),
        Part::Model(kind) => {
            let names = entries(folder).into_iter().filter_map(|path| path.file_name()?.to_str().map(str::to_owned));
            let weights = weights_among(&names.collect(), kind, &mut |name| {
                regular_file::read(&folder.join(name), regular_file::SMALL)
            });
            folder.join(files_of(kind).0).is_file()
                && weights.is_ok_and(|weights| weights.iter().all(|name| folder.join(name).is_file()))
        }
    }
}

/// Checks that `path` is a directory with `file` in it; if not, that is reported, for a model of this job.
fn holds(check: &mut Check, node: &Node, found: &Found, file: &str) -> bool {
    if check.unselected || found.has(file) {
        return true;
    }
    let written = node.text().unwrap_or_default();
    let path = found.path();
    let is_there = found.elsewhere().is_some() || path.is_dir();
    let (message, help) = if is_there {
        let help = match file {
            "tokenizer.json" => {
                format!("name a Hugging Face directory with {file}; `tokenizer_path` may name another directory")
            }
            "config.json" if found.has("params.json") => {
                "this is a directory as Meta distributes it: write `type = \"llama\"`".into()
            }
            "config.json" if found.has("model_config.pt") => {
                "this is a directory of InternLM's training code: write `type = \"internlm\"`".into()
            }
            "config.json" => format!("name a Hugging Face directory with {file}"),
            adapter::CONFIG => "name a directory that `peft` saved".into(),
            _ if found.has("config.json") => "this is a Hugging Face directory: write `type = \"hf\"`".into(),
            _ => format!("name a directory with {file}"),
        };
        (format!("`{written}` holds no {file}"), help)
    } else if looks_like_hub_id(written) {
        let caches: Vec<String> =
            check.environment.hub_caches().iter().map(|cache| format!("`{}`", cache.display())).collect();
        let offline = check.environment.remote.as_ref().and_then(|remote| remote.0.offline());
        let how = match offline {
            Some(variable) => {
                format!("{variable} forbids to fetch it; where there is a network, `hf download {written}` does")
            }
            None => format!("with a network, `hf download {written}` fetches it"),
        };
        let help = format!(
            "looked for `{}` and for a model of that name in the hub cache {}; {how}",
            path.display(),
            caches.join(", ")
        );
        (format!("no directory `{written}`"), help)
    } else {
        (format!("no directory `{written}`"), format!("looked for `{}`", path.display()))
    };
    check.needed(node.span, message, Some(help))
}

/// Checks that there are weights to load in `path`; if not, that is reported, for a model of this job.
fn holds_weights(check: &mut Check, node: &Node, found: &Found, kind: ModelKind) -> bool {
    let (_, known) = files_of(kind);
    // That the directory is not there has been said by now, where nothing will be started.
    let is_absent = check.environment.plans_only && found.elsewhere().is_none() && !found.path().is_dir();
    if check.unselected || is_absent || known.iter().any(|file| found.has(file)) {
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

/// Checks that there is a tokenizer, in one of the forms that engines read; if not, that is reported.
fn holds_tokenizer(check: &mut Check, node: &Node, found: &Found) -> bool {
    has_tokenizer(found) || holds(check, node, found, "tokenizer.json")
}

fn has_tokenizer(found: &Found) -> bool {
    let whole = ["tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "tokenizer.spm"];
    let pairs = [("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")];
    // The only one that ends so, as InternLM's are called.
    let models = std::fs::read_dir(found.small()).into_iter().flatten().filter_map(Result::ok);
    models.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "model")).count() == 1
        || found.has("tokenizer.json")
        || whole.iter().any(|file| found.has(file))
        || pairs.iter().any(|(vocab, merges)| found.has(vocab) && found.has(merges))
}

/// Returns `true` if it may be `owner/name`: a path to a person, a hub id to transformers.
pub(crate) fn looks_like_hub_id(written: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.starts_with('~');
    matches!(written.split_once('/'), Some((owner, name)) if plain(owner) && plain(name) && !name.contains('/'))
}
