//! OpenCompass's configurations, which are Python: evaluated by compass-python, and put into the same tree as TOML, with places
//! in the .py, so that every check and every message is the one of TOML.
//!
//! What is Python about it ends here: `tree` makes plain tables of what a file defines, the others say what its parts are called
//! here. A data set is rows and how they are asked; how they are asked is the same in both, and which rows OpenCompass's loader
//! class stands for is in `loaders`.

mod beside;
mod chain;
mod circular;
mod class;
mod combinations;
mod continuation;
mod datasets;
mod functions;
mod host;
mod label_type;
mod loaders;
mod models;
mod named;
mod own_python;
mod parameters;
mod preset_form;
mod prompt_version;
mod repeated;
mod rows;
mod settings;
mod stages;
mod stand_in;
mod summarizer;
mod tree;
mod unused;

use super::check::Check;
use super::left_out::{self, LeftOutKind};
use super::source::Span;
use super::tree::{KeyValue, Node, Table, Value};
pub use beside::{beside_name, is_own, library_module, without_beside};
pub use chain::LoaderChain;
use compass_python::{Evaluation, Limits, Node as PythonNode, Plain, PythonError};
pub(super) use functions::interpreted;
use host::TreeHost;
pub(super) use host::no_tree;
pub use host::tree_module;
pub(super) use named::{named_datasets, named_models, named_summarizer};
pub(super) use repeated::is_asked;
pub use rows::{EvaluatedConfiguration, Interpreter, LoadedRows, Loader, LoaderCall, LoaderWorld, NoRows, RowLoader};
pub(super) use settings::{json_settings, python_settings};
use std::path::{Path, PathBuf};

/// Where a configuration finds what it imports, beside its own folder. Plain data: the command line fills it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonWorld {
    /// `--opencompass`: the folder that holds the package `opencompass`, the package itself, or its folder `configs`.
    pub opencompass: Option<PathBuf>,
    /// Folders of active Python environments (`VIRTUAL_ENV`, `CONDA_PREFIX`).
    pub environments: Vec<PathBuf>,
    /// Variables of the environment, which configurations may ask for.
    pub variables: Vec<(String, String)>,
    /// `--python`: the user's own Python, which reads what cannot be read without it. A path, or a name on the `PATH`.
    pub interpreter: Option<PathBuf>,
    /// `--python-network`: whether it may use the network.
    pub network: bool,
    /// Runs loader classes that the table of splits does not know.
    pub loader: Option<Loader>,
}

/// Reads the configuration `path`; `None` when it is not usable, which is reported. What is included by a file in TOML
/// (`is_part`) need not define all of a job.
pub(super) fn read(
    check: &mut Check,
    path: &Path,
    canonical: PathBuf,
    text: String,
    is_part: bool,
) -> Option<(Table, Span)> {
    let host = TreeHost::new(path, check.python.clone());
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

/// Where a file assigns `name` at its outermost level, to a value that it does not keep.
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

/// A file that was evaluated.
struct Evaluated {
    places: tree::Places,
    /// What it defines, in its order.
    names: Vec<(String, PythonNode)>,
    /// Its beginning.
    span: Span,
}

/// What loaders may look at.
fn world(check: &Check, path: &Path, trees: &[PathBuf]) -> LoaderWorld {
    let program = check.python.interpreter.clone();
    LoaderWorld {
        config: path.to_path_buf(),
        trees: trees.to_vec(),
        data_dir: check.data_root.clone(),
        hub_caches: check.hub_caches(),
        remote: check.remote.clone(),
        variables: check.python.variables.clone(),
        interpreter: program.map(|program| Interpreter { program, network: check.python.network }),
    }
}

/// Evaluates a file; `None` when it is not usable, which is reported.
fn evaluated(check: &mut Check, host: &TreeHost, path: &Path, canonical: PathBuf, text: String) -> Option<Evaluated> {
    let Evaluation { files, printed, result } = compass_python::evaluate(path, text, host, Limits::default());
    // The files of the evaluation in the order of their ids.
    let mut ids = Vec::with_capacity(files.len());
    for (at, file) in files.into_iter().enumerate() {
        let canonical =
            if at == 0 { canonical.clone() } else { std::fs::canonicalize(&file.path).unwrap_or(file.path.clone()) };
        let is_ours = host::is_stand_in(&file.path);
        ids.push(match is_ours {
            true => check.sources.add_preset(&file.path, file.text),
            false => check.sources.add(&file.path, canonical, file.text),
        });
    }
    let places = tree::Places::new(ids);
    for (place, text) in printed {
        let message = format!("printed: {}", text.replace('\n', " "));
        check.note(places.span(place), message, "a configuration is read once, before anything runs");
    }
    let names = match result {
        Ok(names) => names,
        Err(error) => instead(check, &places, &world(check, path, host.trees()), error)?,
    };
    let span = places.beginning()?;
    Some(Evaluated { places, names, span })
}

fn put(root: &mut Table, key: &str, node: Option<Node>) {
    if let Some(node) = node {
        let key_span = node.span;
        root.entries.push(KeyValue { key: key.to_owned(), key_span, node });
    }
}

/// What the user's own Python makes of a file whose evaluation ended with `error`; `None` when that cannot either, which is
/// reported.
fn instead(
    check: &mut Check,
    places: &tree::Places,
    world: &LoaderWorld,
    error: PythonError,
) -> Option<Vec<(String, PythonNode)>> {
    match own_python::names(&check.python, world) {
        Some(Ok((names, said))) => {
            let span = places.beginning()?;
            let message = format!("beyond what is evaluated here ({}): {said}", error.line());
            check.note(span, message, "errors in it stand at the beginning of the file");
            Some(names)
        }
        Some(Err(none)) => {
            report(check, places, &world.config, error);
            check.report(
                places.beginning(),
                format!("the Python that was named cannot read it either: {}", none.reason),
                none.help,
            );
            None
        }
        None => {
            report(check, places, &world.config, error);
            None
        }
    }
}

fn report(check: &mut Check, places: &tree::Places, path: &Path, error: PythonError) {
    let message = error.line();
    let span = error.place.map(|place| places.span(place));
    let through = error.trace.iter().map(|place| {
        let origin = check.sources.origin(places.span(*place));
        format!("{}:{}", origin.file.display(), origin.line)
    });
    let through: Vec<String> = through.take(4).collect();
    // What the evaluator says of everything that it does not do is no remedy for a file that is written.
    let is_written = error.text.contains("nothing is written");
    let own = is_written.then(|| "remove it: a configuration is read, and writes no files".to_owned());
    let help = match (own.or(error.help), through.is_empty()) {
        (help, true) => help,
        (Some(help), false) => Some(format!("{help} (reached through {})", through.join(", "))),
        (None, false) => Some(format!("reached through {}", through.join(", "))),
    };
    let message = if span.is_none() { format!("`{}`: {message}", path.display()) } else { message };
    check.report(span, message, help);
}

/// An array of tables at one place.
fn array(items: Vec<Node>, span: Span) -> Node {
    Node { value: Value::Array(items), span }
}
