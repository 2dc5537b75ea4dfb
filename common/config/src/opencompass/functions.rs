//! Postprocessors that only the user has, in OpenCompass's tree or beside the configuration: functions from a text to a text,
//! evaluated from their source.
//!
//! A function is traced when the configuration is read and tried on a few texts, so that what cannot be evaluated here is
//! refused before anything runs. What it raises on a text is its own: that answer is undecided.

use super::beside::{beside_name, module_of, without_beside};
use super::host::{MOST_SOURCE, TreeHost, package, tree_module};
use super::tree::Places;
use crate::report::check::Check;
use crate::report::environment::PythonWorld;
use crate::syntax::tree::{Node, Table, Value};
use compass_common::regular_file;
use compass_postprocess::{Interpreted, NameError, Postprocessor};
use compass_python::{LibraryFault, Node as PythonNode, Place, Plain, trace_function};
use compass_settings::is_own;
use compass_types::function::FunctionSource;
use serde_json::{Map, Value as Json};
use std::path::{Path, PathBuf};

/// Prefix of the names of OpenCompass's modules.
const TREE: &str = "opencompass.";
/// Keys whose values name postprocessors.
const KEYS: &[&str] = &["pred_postprocessor", "dataset_postprocessor"];
/// Answers as models give them.
const TRIED: &[&str] = &[
    "",
    "The answer is (B).\n",
    "Let me think.\n\n2 + 3 = 5, so \\boxed{5}. #### 5\n",
    "```python\ndef f(x):\n    return x\n```\n",
    "<answer>yes</answer> {\"answer\": [1, 2]} 答案：A",
];

/// The function that `written` names in an OpenCompass tree or beside the configuration, or why it is not evaluated. `None` where
/// neither is known to have it.
pub(crate) fn interpreted(
    world: &PythonWorld,
    config: &Path,
    written: &str,
    parameters: Map<String, Json>,
) -> Option<Result<Postprocessor, String>> {
    let host = TreeHost::new(config, world.clone());
    let trees = host.trees();
    let source = match own(trees, config, written) {
        Some(source) => source,
        None if trees.is_empty() => return None,
        None => traced(trees, written)?,
    };
    let source = match source {
        Ok(source) => source,
        Err(fault) => return Some(Err(without_beside(&fault.to_string()))),
    };
    let function = Interpreted::new(source, parameters);
    match function.refusal(TRIED) {
        Some(reason) => Some(Err(without_beside(&reason))),
        None => Some(Ok(Postprocessor::Interpreted(function))),
    }
}

/// A function of a module beside the configuration. `None` where there is no such module.
fn own(trees: &[PathBuf], config: &Path, written: &str) -> Option<Result<FunctionSource, LibraryFault>> {
    let name = beside_name(config, written)?;
    Some(trace_function(&name, &|dotted: &str| module_of(trees, config, dotted)))
}

/// A name with a module is looked up there; another one where OpenCompass keeps them, then among those that are registered.
fn traced(trees: &[PathBuf], written: &str) -> Option<Result<FunctionSource, LibraryFault>> {
    let modules = |dotted: &str| tree_module(trees, dotted);
    if written.starts_with(TREE) {
        return Some(trace_function(written, &modules));
    }
    let usual = ["opencompass.datasets", "opencompass.utils.text_postprocessors"];
    let found =
        usual.iter().map(|package| trace_function(&format!("{package}.{written}"), &modules)).find(Result::is_ok);
    found.or_else(|| Some(trace_function(&registered(trees, written)?, &modules)))
}

/// The function that registers itself as `name`: `@TEXT_POSTPROCESSORS.register_module('name')`.
fn registered(trees: &[PathBuf], name: &str) -> Option<String> {
    let registry = "TEXT_POSTPROCESSORS.register_module";
    let marks = [format!("{registry}('{name}')"), format!("{registry}(\"{name}\")")];
    for package in trees.iter().map(|tree| package(tree)) {
        for folder in ["utils", "datasets"] {
            let mut files = Vec::new();
            python_files(&package.join(folder), 0, &mut files);
            files.sort();
            for file in files {
                let Some(text) =
                    regular_file::read(&file, MOST_SOURCE).ok().and_then(|bytes| String::from_utf8(bytes).ok())
                else {
                    continue;
                };
                let Some(at) = marks.iter().find_map(|mark| text.find(mark.as_str())) else { continue };
                // Below it further decorators may stand; a class is nothing that is called with a text.
                let below =
                    text.get(at..)?.lines().find(|line| line.starts_with("def ") || line.starts_with("class "))?;
                let function = below.strip_prefix("def ")?.split('(').next()?.trim();
                let relative = file.strip_prefix(&package).ok()?.with_extension("");
                let parts: Vec<String> = relative
                    .iter()
                    .map(|part| part.to_string_lossy().into_owned())
                    .filter(|part| part != "__init__")
                    .collect();
                return Some(format!("opencompass.{}.{function}", parts.join(".")));
            }
        }
    }
    None
}

fn python_files(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() && depth < 4 {
            python_files(&path, depth + 1, found);
        } else if path.extension().is_some_and(|kind| kind == "py") {
            found.push(path);
        }
    }
}

/// The entries of a data set without the postprocessors that are functions of the configuration itself, which are reported.
pub(super) fn without_own(
    check: &mut Check,
    places: &Places,
    entries: &[(PythonNode, PythonNode)],
) -> Vec<(PythonNode, PythonNode)> {
    let mut kept = entries.to_vec();
    for (key, node) in &mut kept {
        if key.text() == Some("eval_cfg")
            && let Plain::Dict(eval) = &mut node.value
        {
            eval.retain(|(key, node)| {
                let Some(name) = key.text().filter(|name| KEYS.contains(name)) else { return true };
                let Some(place) = own_function(node) else { return true };
                let help = "OpenCompass cannot load such a configuration either: put the function into a module beside the file, \
                            or of its tree, and import it, as in `from opencompass.datasets.own import own_postprocess`";
                let message = format!("`{name}` is a function that the configuration defines itself");
                check.error(places.span(place), message, Some(help.into()));
                false
            });
        }
    }
    kept
}

/// Returns the place of a postprocessor, or of one of several, that is a function and not a name.
fn own_function(node: &PythonNode) -> Option<Place> {
    match &node.value {
        Plain::Other("a function") => Some(node.place),
        Plain::Dict(_) => node.get("type").and_then(own_function),
        _ => node.items().iter().find_map(own_function),
    }
}

/// Gives the postprocessors of `table` that are not known here, or are the user's own, the names of their modules, which plain
/// names have lost.
pub(super) fn keep_modules(table: &mut Table, node: &PythonNode) {
    for key in KEYS {
        let (Some(ours), Some(theirs)) = (table.get_mut(key), node.get(key)) else { continue };
        match &mut ours.value {
            Value::Array(items) => {
                for (item, theirs) in items.iter_mut().zip(theirs.items()) {
                    keep_module(item, theirs);
                }
            }
            _ => keep_module(ours, theirs),
        }
    }
}

fn keep_module(ours: &mut Node, theirs: &PythonNode) {
    let named = |node: &PythonNode| match &node.value {
        Plain::Symbol(dotted) if is_own(dotted) || is_unknown(dotted) => Some(dotted.clone()),
        _ => None,
    };
    match &mut ours.value {
        Value::Table(table) => {
            if let (Some(node), Some(dotted)) = (table.get_mut("type"), theirs.get("type").and_then(named)) {
                node.value = Value::String(dotted);
            }
        }
        Value::String(name) => {
            if let Some(dotted) = named(theirs) {
                *name = dotted;
            }
        }
        _ => {}
    }
}

fn is_unknown(name: &str) -> bool {
    matches!(Postprocessor::named(name, &Map::new()), Err(NameError::Unknown(_)))
}
