//! OpenCompass's configurations, which are Python: evaluated by compass-python, and put into the same tree as TOML, with places
//! in the .py, so that every check and every message is the one of TOML.
//!
//! All that is Python about it ends here: `tree` makes plain tables of what a file defines, the others say what its parts are called
//! here. A data set is rows and how they are asked; how they are asked is the same in both, and which rows OpenCompass's loader
//! class stands for is in `loaders`.

mod beside;
mod chain;
mod circular;
mod class;
mod combinations;
mod continuation;
mod datasets;
mod evaluated;
mod functions;
mod host;
mod label_type;
mod models;
mod named;
mod own_python;
mod parameters;
mod preset_form;
mod prompt_version;
mod repeated;
mod settings;
mod stages;
mod stand_in;
mod summarizer;
mod tree;
mod unused;

use crate::opencompass::evaluated::Evaluated;
use crate::opencompass::evaluated::evaluated;
use crate::opencompass::evaluated::world;
use crate::report::check::Check;
use crate::report::left_out;
use crate::syntax::source::Span;
use crate::syntax::tree::{KeyValue, Node, Table};
pub use beside::{beside_name, library_module, without_beside};
pub use chain::LoaderChain;
use compass_python::{Node as PythonNode, Plain};
use compass_settings::LeftOutKind;
pub(super) use functions::interpreted;
use host::TreeHost;
pub(super) use host::no_tree;
pub use host::tree_module;
pub(super) use named::{named_datasets, named_models, named_summarizer};
pub(super) use repeated::is_asked;
pub(super) use settings::{json_settings, python_settings};
use std::path::{Path, PathBuf};

/// Reads the configuration `path`; `None` when it is not usable, which is reported. What is included by a file in TOML
/// (`is_part`) need not define all of a job.
pub(super) fn read(
    check: &mut Check,
    path: &Path,
    canonical: PathBuf,
    text: String,
    is_part: bool,
) -> Option<(Table, Span)> {
    let host = TreeHost::new(path, check.environment.python.clone());
    let Evaluated { places, names, span } = evaluated(check, &host, path, canonical, text)?;
    let mut root = Table::default();
    let world = world(check, path, host.trees());
    for (name, node) in &names {
        match name.as_str() {
            "models" => put(&mut root, "model", models::read(check, &places, node)),
            "datasets" => put(&mut root, "dataset", datasets::read(check, &places, &world, node)),
            "infer" | "eval" => put(&mut root, name, stages::read(check, &places, name, node)),
            "summarizer" => put(&mut root, "summarizer", summarizer::read(check, &places, node)),
            "work_dir" => put(&mut root, "work_dir", work_dir(check, &places, node)),
            "model_dataset_combinations" => put(&mut root, "combination", combinations::read(check, &places, node)),
            "chatml_datasets" if !node.items().is_empty() => {
                let help = "write these data sets as TOML, or with a class of `opencompass.datasets`";
                check.not_yet(places.span(node.place), "`chatml_datasets`", help);
            }
            // Whatever else a file defines is for its own use.
            _ => {}
        }
    }
    for (key, names, noun) in [("model", "models", "model"), ("dataset", "datasets", "data set")] {
        if let Some(list) = root.get_mut(key) {
            repeated::settle(check, names, noun, list);
        }
    }
    for (key, noun) in [("model", "models"), ("dataset", "datasets")] {
        if root.get(key).is_none() && !is_part && !check.has_errors() {
            if let Some(at) = assigned(check, span, noun) {
                let help = format!("write `{noun} = [...]`: a generator or a function is not evaluated to a list");
                check.error(at, format!("`{noun}` is not a list"), Some(help));
                continue;
            }
            let message = format!("`{noun}` is not defined");
            let near = names.iter().find(|(name, _)| name.ends_with(&format!("_{noun}")) || name.contains(key));
            let help = near.map_or_else(
                || format!("a configuration of OpenCompass defines the list `{noun}`"),
                |(name, _)| {
                    format!("a configuration of OpenCompass defines the list `{noun}`, as in `{noun} = {name}`")
                },
            );
            check.error(span, message, Some(help));
        }
    }
    // What is left of both lists is checked beside what is refused, so that all of it is said at once.
    let has_both = ["model", "dataset"].iter().all(|key| root.get(key).is_some_and(|node| !node.is_empty()));
    let has_left_out = [("model", LeftOutKind::Model), ("dataset", LeftOutKind::Dataset)];
    let is_left_out = |(key, kind)| left_out::has_any(check, kind) && root.get(key).is_none_or(Node::is_empty);
    if check.has_errors() || has_left_out.into_iter().any(is_left_out) {
        // They name data sets and models that may be among what is refused.
        root.remove("combination");
        root.remove("summarizer");
    }
    (has_both || !check.has_errors()).then_some((root, span))
}

/// Returns the place where a file assigns `name` at its outermost level, to a value that it does not keep.
fn assigned(check: &Check, beginning: Span, name: &str) -> Option<Span> {
    let mut start = 0;
    for line in check.sources.text(beginning.file).split_inclusive('\n') {
        let after = line.strip_prefix(name).map(str::trim_start).and_then(|rest| rest.strip_prefix('='));
        if after.is_some_and(|value| !value.starts_with('=')) {
            return Some(Span { file: beginning.file, start, end: start + name.len() });
        }
        start += line.len();
    }
    None
}

/// `work_dir`, a text; `None` of Python is a key that is not there.
fn work_dir(check: &mut Check, places: &tree::Places, node: &PythonNode) -> Option<Node> {
    if node.text().is_none() && node.value != Plain::None {
        let help = "write a path: `work_dir = './outputs/default'`";
        check.error(places.span(node.place), "`work_dir` is not a text".into(), Some(help.into()));
    }
    tree::path(places, node)
}

fn put(root: &mut Table, key: &str, node: Option<Node>) {
    if let Some(node) = node {
        let key_span = node.span;
        root.entries.push(KeyValue { key: key.to_owned(), key_span, node });
    }
}
