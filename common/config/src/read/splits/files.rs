//! `path` of a split: a file, a folder, a pattern such as `mmlu/test/*_test.csv`, a repository of the Hugging Face hub,
//! or a list of these. Files come in the order of the list, and by name within each.

use crate::read::datasets::hub::{self, entries};
use crate::read::paths;
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_settings::{FileFormat, RemoteFault, SourceFile, is_on_s3};
use std::path::{Path, PathBuf};

/// The files behind `path`; what names none is reported. `split` is looked for in the hub's folders; with `has_format`
/// the end of a file's name need not tell what it holds.
pub(crate) fn read(
    check: &mut Check,
    node: &Node,
    split: &str,
    has_format: bool,
    data_dir: Option<&Path>,
) -> Option<Vec<SourceFile>> {
    let Value::Array(nodes) = &node.value else { return one(check, node, split, has_format, data_dir) };
    // All are read before any is missed, so that every error is found.
    let read: Vec<_> = nodes.iter().map(|node| one(check, node, split, has_format, data_dir)).collect();
    if nodes.is_empty() {
        check.error(node.span, "`path` names no file".into(), Some("write `path = \"...\"`".into()));
        return None;
    }
    Some(read.into_iter().collect::<Option<Vec<_>>>()?.concat())
}

fn one(
    check: &mut Check,
    node: &Node,
    split: &str,
    has_format: bool,
    data_dir: Option<&Path>,
) -> Option<Vec<SourceFile>> {
    let text = crate::read::fields::text(check, "path", node)?;
    if let Some(id) = text.strip_prefix(hub::SCHEME) {
        if check.unselected {
            return Some(Vec::new());
        }
        return match hub::files(id, split, &check.environment.hub_caches(), check.environment.remote.as_ref()) {
            Ok(paths) => Some(paths.into_iter().map(named).collect()),
            Err(fault) => nothing(check, node, fault.message, fault.help),
        };
    }
    let has_star = text.contains('*');
    let is_there = move |path: &Path| if has_star { matches(path).is_some() } else { path.exists() };
    let place = if is_on_s3(text) {
        if check.unselected {
            return Some(Vec::new());
        }
        match fetched(check, node, text) {
            Ok(place) => place,
            Err(fault) => return nothing(check, node, fault.message, fault.help),
        }
    } else {
        paths::data_place(check, "path", node, data_dir, &is_there)?
    };
    let files: Vec<SourceFile> = if check.unselected {
        vec![named(place)]
    } else if has_star {
        matches(&place).unwrap_or_default()
    } else if place.is_dir() {
        folder(check, node, &place)?
    } else {
        vec![named(place)]
    };
    let unknown = files.iter().find(|file| !has_format && FileFormat::of(&file.path).is_none());
    if let Some(file) = unknown.filter(|_| !check.unselected && check.absent.is_none()) {
        let name = file.path.file_name().unwrap_or_default().display();
        let help = "write `format = \"jsonl\"` or another of json, csv, tsv, txt, parquet and arrow";
        check.error(node.span, format!("the name `{name}` does not tell what the file holds"), Some(help.into()));
        return None;
    }
    Some(files)
}

/// The files of data that cannot be had: none where they are not needed, else that is reported.
fn nothing(check: &mut Check, node: &Node, message: String, help: String) -> Option<Vec<SourceFile>> {
    if check.environment.scores_only {
        check.absent.get_or_insert(message);
        return Some(Vec::new());
    }
    check.error(node.span, message, Some(help));
    None
}

/// The copy on this host of data in an object store.
fn fetched(check: &Check, node: &Node, text: &str) -> Result<PathBuf, RemoteFault> {
    match &check.environment.remote {
        Some(remote) => remote.0.data(text),
        None => Err(RemoteFault {
            message: format!(
                "{} is in an object store, from which nothing is fetched here",
                check.quoted("path", node)
            ),
            help: "copy the data to this host and name that".into(),
        }),
    }
}

/// A file under its own name up to its kind.
fn named(path: PathBuf) -> SourceFile {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let name = name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
    SourceFile { path, name }
}

/// The data files in a folder, not below it. Files of several kinds are an error: one set may lie there twice.
fn folder(check: &mut Check, node: &Node, folder: &Path) -> Option<Vec<SourceFile>> {
    let mut files: Vec<PathBuf> = entries(folder).into_iter().filter(|path| path.is_file()).collect();
    files.retain(|path| FileFormat::of(path).is_some());
    let mut kinds: Vec<FileFormat> = files.iter().filter_map(|path| FileFormat::of(path)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let text = node.text().unwrap_or_default().trim_end_matches('/').to_owned();
    match kinds.as_slice() {
        [_] => Some(files.into_iter().map(named).collect()),
        [] => {
            let help =
                "the readers know .jsonl, .json, .csv, .tsv, .txt, .parquet and .arrow, each also with .gz".into();
            check.error(node.span, format!("the folder `{text}` holds no data file"), Some(help));
            None
        }
        [kind, ..] => {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            let message = format!("the folder `{text}` holds files of several kinds: {}", names.join(", "));
            check.error(node.span, message, Some(format!("choose with `path = \"{text}/*.{}\"`", kind.name())));
            None
        }
    }
}

/// The files that a pattern names, each with what `*` stands for; `None` when there are none.
fn matches(pattern: &Path) -> Option<Vec<SourceFile>> {
    let name = pattern.file_name()?.to_str()?;
    let files = entries(pattern.parent()?).into_iter().filter(|path| path.is_file());
    let files = files.filter_map(|path| {
        let name = matched(name, path.file_name()?.to_str()?)?;
        Some(SourceFile { path, name })
    });
    Some(files.collect::<Vec<_>>()).filter(|files| !files.is_empty())
}

/// Returns what the `*` of `pattern` stand for in `name`, joined by `_`; `None` if it does not match.
fn matched(pattern: &str, name: &str) -> Option<String> {
    let (first, rest) = pattern.split_once('*')?;
    let after = name.strip_prefix(first)?;
    if !rest.contains('*') {
        return after.strip_suffix(rest).map(str::to_owned);
    }
    // The shortest text that lets the rest match.
    let mut ends = after.char_indices().map(|(at, _)| at).chain([after.len()]);
    ends.find_map(|end| {
        let (here, after) = after.split_at(end);
        let (literal, _) = rest.split_once('*')?;
        let others = after.starts_with(literal).then(|| matched(rest, after))??;
        Some(format!("{here}_{others}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_what_differs() {
        for (pattern, name, stands_for) in [
            ("*_test.csv", "abstract_algebra_test.csv", Some("abstract_algebra")),
            ("*_test.csv", "abstract_algebra_dev.csv", None),
            ("*.json", "a.jsonl", None),
            ("a*", "a", Some("")),
            ("train-*-of-*.parquet", "train-00000-of-00002.parquet", Some("00000_00002")),
            ("aa*aa", "aaa", None),
        ] {
            assert_eq!(matched(pattern, name).as_deref(), stands_for, "{pattern} {name}");
        }
        assert_eq!(named("x/Humaneval.jsonl.gz".into()).name, "Humaneval");
    }
}
