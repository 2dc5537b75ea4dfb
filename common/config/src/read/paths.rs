//! Paths of the configuration: relative to the file that names them, `~` expanded, absolute afterwards.

use crate::report::check::Check;
use crate::report::missing_files::MissingFile;
use crate::syntax::source::Span;
use crate::syntax::tree::Node;
use std::path::{Path, PathBuf};

/// The absolute form of the path in `node`; what cannot be one is reported.
pub(crate) fn resolve(check: &mut Check, key: &str, node: &Node) -> Option<PathBuf> {
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

/// Returns why no folder can be made at `path`: a file is in the way. Whether one may write there is for others to find out.
pub(crate) fn file_in_the_way(path: &Path) -> Option<String> {
    let nearest = path.ancestors().find(|ancestor| ancestor.exists())?;
    (!nearest.is_dir()).then(|| format!("cannot be a folder: `{}` is a file", nearest.display()))
}

/// A folder that will be written to, which need not exist yet.
pub(crate) fn folder(check: &mut Check, key: &str, node: &Node) -> Option<PathBuf> {
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
pub(crate) fn data_file(check: &mut Check, key: &str, node: &Node, data_dir: Option<&Path>) -> Option<PathBuf> {
    let path = data_place(check, key, node, data_dir, &Path::exists)?;
    if path.is_dir() && !check.unselected {
        let message = format!("`{}` is a directory", node.text().unwrap_or_default());
        check.error(node.span, message, Some("name one file".into()));
        return None;
    }
    Some(path)
}

/// As [`data_file`] for whatever `is_there` accepts: a folder, or a pattern that names files.
pub(crate) fn data_place(
    check: &mut Check,
    key: &str,
    node: &Node,
    data_dir: Option<&Path>,
    is_there: &dyn Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let near = resolve(check, key, node)?;
    if check.unselected {
        return Some(near);
    }
    let text = node.text().unwrap_or_default();
    let far = data_dir.map(|dir| dir.join(text)).filter(|far| *far != near);
    let place = [Some(near.clone()), far.clone()].into_iter().flatten().find(|place| is_there(place));
    match place {
        Some(place) => {
            check.files.found(node.span.file, text);
            Some(place)
        }
        None if check.environment.scores_only => {
            check.absent.get_or_insert_with(|| format!("no file `{text}`: looked for `{}`", near.display()));
            Some(near)
        }
        None => {
            let (span, text, has_data_dir) = (node.span, text.to_owned(), data_dir.is_some());
            let reading = check.reading.clone();
            check.files.missing(MissingFile { span, text, near, far, has_data_dir, reading });
            None
        }
    }
}

/// The folder of the file that `span` is in; for a preset, the data folder.
pub(crate) fn beside(check: &Check, span: Span) -> PathBuf {
    if check.sources.is_preset(span.file) {
        return check.environment.data_root.clone();
    }
    check.sources.path(span.file).parent().unwrap_or(Path::new("")).into()
}

/// `None` when `~` is wanted and unknown.
fn expand(check: &Check, text: &str) -> Option<PathBuf> {
    match text.strip_prefix('~') {
        Some("") => check.environment.home.clone(),
        Some(rest) if rest.starts_with('/') => {
            Some(check.environment.home.as_ref()?.join(rest.trim_start_matches('/')))
        }
        _ => Some(text.into()),
    }
}
