//! Models, data sets and summarizers by the names of their files in an OpenCompass tree, as its `--models`, `--datasets` and
//! `--summarizer` find them.
//!
//! Presets come first: what is looked for here is what nothing else defines.

use super::host::TreeHost;
use super::tree::Places;
use super::{Evaluated, datasets, evaluated, models, repeated, summarizer, world};
use crate::presets::data_sets::Asked;
use crate::read::summary::files;
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{KeyValue, Node, Table, Value};
use compass_common::regular_file;
use compass_diagnostic::spelling;
use compass_python::Node as PythonNode;
use std::path::{Path, PathBuf};

/// Largest file that is read.
const MOST_BYTES: u64 = 16 << 20;
/// Deepest folder below `configs` that is looked into.
const MOST_LEVELS: u32 = 16;
/// Folders of `configs` that are searched.
const MODELS: &[&str] = &["models"];
const DATASETS: &[&str] = &["datasets", "dataset_collections"];
const SUMMARIZERS: &[&str] = &["summarizers"];

/// Adds to `root` the models of every file that `names` asks for and nothing defines.
pub(crate) fn named_models(check: &mut Check, root: &mut Table, names: &[String], asked: &mut Asked) {
    let finder = Finder::new(check);
    for name in missing(root, "model", names, asked) {
        let found = match finder.evaluated(check, MODELS, &name) {
            Search::Found(found) => found,
            Search::Nothing => continue,
            Search::Unusable => {
                asked.insert(name, Vec::new());
                continue;
            }
        };
        let Some((_, node)) = found.names.iter().find(|(key, _)| key == "models") else {
            let message = format!("`{}` defines no `models`", found.path.display());
            check.error(found.span, message, Some("name a file that does".into()));
            asked.insert(name, Vec::new());
            continue;
        };
        let mut tables = models::read(check, &found.places, node);
        if let Some(list) = &mut tables {
            repeated::settle(check, &name, "model", list);
        }
        add(check, root, "model", name, tables, asked);
    }
}

/// Adds to `root` the data sets of every file that `names` asks for and nothing defines: `name` those of all lists whose
/// names end in `_datasets`, `name/suffix` those whose names end in the suffix.
pub(crate) fn named_datasets(check: &mut Check, root: &mut Table, names: &[String], asked: &mut Asked) {
    let finder = Finder::new(check);
    for name in missing(root, "dataset", names, asked) {
        let (file, suffix) = name.split_once('/').unwrap_or((name.as_str(), "_datasets"));
        let found = match finder.evaluated(check, DATASETS, file) {
            Search::Found(found) => found,
            Search::Nothing => continue,
            Search::Unusable => {
                asked.insert(name, Vec::new());
                continue;
            }
        };
        let lists: Vec<&PythonNode> =
            found.names.iter().filter(|(key, _)| key.ends_with(suffix)).map(|(_, node)| node).collect();
        if lists.is_empty() {
            let keys: Vec<&str> = found.names.iter().map(|(key, _)| key.as_str()).collect();
            let message = format!("`{}` defines nothing whose name ends in `{suffix}`", found.path.display());
            check.error(found.span, message, Some(spelling::suggest(suffix, keys, "names")));
            asked.insert(name.clone(), Vec::new());
            continue;
        }
        let world = world(check, &found.path, finder.host.trees());
        let read = lists.into_iter().filter_map(|node| datasets::read(check, &found.places, &world, node));
        let tables = read.flat_map(|node| node.items().to_vec()).collect();
        let mut tables = Node { value: Value::Array(tables), span: found.span };
        // A collection names the lists that it imports, and their sum.
        repeated::settle(check, &name, "data set", &mut tables);
        add(check, root, "dataset", name, Some(tables), asked);
    }
}

/// `[summarizer]` of the file that `--summarizer NAME` or `NAME/KEY` asks for; OpenCompass's groups of that name where no tree
/// is known.
pub(crate) fn named_summarizer(check: &mut Check, root: &mut Table, name: &str, nowhere: Span) {
    let (file, key) = name.split_once('/').unwrap_or((name, "summarizer"));
    root.remove("summarizer");
    let finder = Finder::new(check);
    let node = match finder.evaluated(check, SUMMARIZERS, file) {
        Search::Found(found) => match found.names.iter().find(|(known, _)| known == key) {
            Some((_, node)) => summarizer::read(check, &found.places, node),
            None if files::has(file) => Some(crate::read::summary::summarizer::of_groups(file, nowhere)),
            None => {
                let keys = found.names.iter().map(|(key, _)| key.as_str());
                let message = format!("`{}` defines no `{key}`", found.path.display());
                check.error(found.span, message, Some(spelling::suggest(key, keys, "names")));
                None
            }
        },
        Search::Unusable => None,
        Search::Nothing if file == "example" => None,
        Search::Nothing if files::has(file) => Some(crate::read::summary::summarizer::of_groups(file, nowhere)),
        Search::Nothing => {
            let near = spelling::nearest(file, files::names().iter().map(String::as_str)).map(str::to_owned);
            let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            let help = format!("{near}it is a file of configs/summarizers in {}", finder.looked());
            check.report(None, format!("no summarizer `{file}` (given by --summarizer)"), Some(help));
            None
        }
    };
    if let Some(node) = node {
        root.entries.push(KeyValue { key: "summarizer".to_owned(), key_span: node.span, node });
    }
}

/// Names that neither a table of the list nor a preset has.
fn missing(root: &Table, list: &str, names: &[String], asked: &Asked) -> Vec<String> {
    let tables = root.get(list).map(Node::items).unwrap_or_default();
    let defined: Vec<&str> = tables.iter().filter_map(|node| node.table()?.text("abbr")).collect();
    let is_missing = |name: &&String| !defined.contains(&name.as_str()) && !asked.contains_key(name.as_str());
    let mut missing: Vec<String> = Vec::new();
    for name in names.iter().filter(is_missing) {
        if !missing.contains(name) {
            missing.push(name.clone());
        }
    }
    missing
}

fn add(check: &mut Check, root: &mut Table, list: &str, name: String, tables: Option<Node>, asked: &mut Asked) {
    let Some(mut tables) = tables else { return };
    let abbr = |node: &Node| Some(node.table()?.text("abbr")?.to_owned());
    let abbrs = tables.items().iter().filter_map(abbr).collect();
    if let Value::Array(items) = &mut tables.value {
        let defined = root.get(list).map(Node::items).unwrap_or_default();
        items.retain(|item| !repeated::is_asked(check, list, &name, item, defined, asked));
    }
    asked.insert(name, abbrs);
    match root.get_mut(list) {
        Some(Node { value: Value::Array(items), .. }) => items.extend(tables.items().iter().cloned()),
        _ => {
            root.remove(list);
            root.entries.push(KeyValue { key: list.to_owned(), key_span: tables.span, node: tables });
        }
    }
}

/// Result of the search for a name.
enum Search {
    Found(Box<Found>),
    /// No file has it.
    Nothing,
    /// The file is wrong, which is reported.
    Unusable,
}

/// A file that was found and evaluated.
struct Found {
    path: PathBuf,
    places: Places,
    names: Vec<(String, PythonNode)>,
    /// Its beginning.
    span: Span,
}

/// The trees in which names are looked for: those that a configuration in the current directory would have.
struct Finder {
    host: TreeHost,
}

impl Finder {
    fn new(check: &Check) -> Self {
        Self { host: TreeHost::new(Path::new("configuration.py"), check.environment.python.clone()) }
    }

    /// The first file of that name.
    fn evaluated(&self, check: &mut Check, folders: &[&str], name: &str) -> Search {
        let pattern = name.strip_suffix(".py").unwrap_or(name).to_lowercase();
        let mut found = Vec::new();
        for tree in self.host.trees() {
            for folder in folders {
                let mut here = Vec::new();
                walk(&tree.join("configs").join(folder), &pattern, MOST_LEVELS, &mut here);
                // Among equal names, those of folders above come first.
                let place =
                    |path: &PathBuf| (path.file_name().map(ToOwned::to_owned), path.iter().count(), path.clone());
                here.sort_by_key(place);
                found.extend(here);
            }
        }
        let Some(path) = found.first().cloned() else { return Search::Nothing };
        let read = regular_file::read(&path, MOST_BYTES).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(text) = read else {
            let message = format!("cannot read `{}`", path.display());
            check.report(None, message, Some("save it as UTF-8 text".into()));
            return Search::Unusable;
        };
        let canonical = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let Some(Evaluated { places, names, span }) = evaluated(check, &self.host, &path, canonical, text) else {
            return Search::Unusable;
        };
        if let [_, second, ..] = found.as_slice() {
            let message = format!("`{name}` is the name of {} files; taken is {}", found.len(), path.display());
            check.note(span, message, &format!("another one is {}", second.display()));
        }
        Search::Found(Box::new(Found { path, places, names, span }))
    }

    fn looked(&self) -> String {
        match self.host.trees() {
            [] => "an OpenCompass tree, and none is known: name one with --opencompass DIR".to_owned(),
            trees => trees.iter().map(|tree| format!("`{}`", tree.display())).collect::<Vec<_>>().join(" and "),
        }
    }
}

/// Files below `folder` whose names, without `.py`, are as the pattern in small letters says.
fn walk(folder: &Path, pattern: &str, levels: u32, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            if let Some(levels) = levels.checked_sub(1) {
                walk(&path, pattern, levels, found);
            }
            continue;
        }
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_lowercase();
        if name.strip_suffix(".py").is_some_and(|stem| fits(pattern, stem)) {
            found.push(path);
        }
    }
}

/// Returns `true` if a name matches a pattern: `*` stands for any characters, `?` for one.
fn fits(pattern: &str, name: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => name.is_empty(),
        Some('*') => {
            let after = rest.as_str();
            name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| fits(after, &name[at..]))
        }
        Some(one) => {
            let mut others = name.chars();
            others.next().is_some_and(|other| one == '?' || one == other) && fits(rest.as_str(), others.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns_of_names() {
        for (pattern, name) in
            [("race_gen", "race_gen"), ("race_*", "race_gen_69ee4f"), ("*", ""), ("r?ce*n", "race_gen")]
        {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("race", "race_gen"), ("race_?", "race_gen"), ("*x", "race")] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }
}
