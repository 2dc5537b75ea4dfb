//! Paths of the configuration: relative to the file that names them, `~` expanded, absolute afterwards.

use super::check::Check;
use super::source::Span;
use super::tree::Node;
use std::path::{Path, PathBuf};

/// The absolute form of the path in `node`; what cannot be one is reported.
pub(super) fn resolve(check: &mut Check, key: &str, node: &Node) -> Option<PathBuf> {
    let text = super::fields::text(check, key, node)?;
    let Some(expanded) = expand(check, text) else {
        let message = format!("`{key}` begins with `~`, and no home directory is known");
        check.error(node.span, message, Some("write an absolute path, or set HOME".into()));
        return None;
    };
    match std::path::absolute(beside(check, node.span).join(&expanded)) {
        Ok(path) if !text.is_empty() => Some(path),
        _ => {
            check.error(node.span, format!("`{key}` is empty"), Some("write a path, or remove the key".into()));
            None
        }
    }
}

/// Why no folder can be made at `path`: a file stands in the way. Whether one may write there is for others to find out.
pub(super) fn file_in_the_way(path: &Path) -> Option<String> {
    let nearest = path.ancestors().find(|ancestor| ancestor.exists())?;
    (!nearest.is_dir()).then(|| format!("cannot be a folder: `{}` is a file", nearest.display()))
}

/// A folder that will be written to, which need not exist yet.
pub(super) fn folder(check: &mut Check, key: &str, node: &Node) -> Option<PathBuf> {
    let path = resolve(check, key, node)?;
    match file_in_the_way(&path) {
        None => Some(path),
        Some(fault) => {
            check.error(
                node.span,
                format!("`{key}` {fault}"),
                Some("name a folder, or a place where one can be made".into()),
            );
            None
        }
    }
}

/// A file with data: beside the file that names it, else in `data_dir`. Where it is in neither, that is reported.
pub(super) fn data_file(check: &mut Check, key: &str, node: &Node, data_dir: Option<&Path>) -> Option<PathBuf> {
    let near = resolve(check, key, node)?;
    if near.is_file() || check.unselected {
        return Some(near);
    }
    let text = node.text().unwrap_or_default();
    let far = data_dir.map(|dir| dir.join(text)).filter(|far| *far != near);
    if let Some(far) = far.as_ref().filter(|far| far.is_file()) {
        return Some(far.clone());
    }
    let (message, help) = if near.is_dir() {
        (format!("`{text}` is a directory"), "name one file: .jsonl, .json, .csv, .tsv, .txt or .parquet".to_owned())
    } else {
        let help = match far {
            Some(far) => format!("looked for `{}` and `{}`", near.display(), far.display()),
            None => format!("looked for `{}`; `data_dir` would be looked in too", near.display()),
        };
        (format!("no file `{text}`"), help)
    };
    check.error(node.span, message, Some(help));
    None
}

/// The folder of the file that `span` is in; for a preset, the data folder.
fn beside(check: &Check, span: Span) -> PathBuf {
    if check.sources.is_preset(span.file) {
        return check.data_root.clone();
    }
    check.sources.path(span.file).parent().unwrap_or(Path::new("")).into()
}

/// `None` when `~` is wanted and unknown.
fn expand(check: &Check, text: &str) -> Option<PathBuf> {
    match text.strip_prefix('~') {
        Some("") => check.home.clone(),
        Some(rest) if rest.starts_with('/') => Some(check.home.as_ref()?.join(rest.trim_start_matches('/'))),
        _ => Some(text.into()),
    }
}
