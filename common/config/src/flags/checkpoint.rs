//! Place of a checkpoint's directory in a configuration that is used for many.
//!
//! `${checkpoint}` in `path` and `tokenizer_path` of a model stands for it. A configuration with one model need not say so: its
//! path gives way.

use crate::report::check::Check;
use crate::syntax::tree::{KeyValue, Node, Table, Value};
use std::path::Path;

/// Placeholder for the directory.
const PLACE: &str = "${checkpoint}";

/// Puts `directory` into the models of a job: all of the file where `names` is empty, else those that it names.
pub(crate) fn put(check: &mut Check, root: &mut Table, names: &[String], directory: &Path) {
    let directory = directory.display().to_string();
    let Some(Node { value: Value::Array(models), .. }) = root.get_mut("model") else { return };
    let is_wanted = |table: &Table| names.is_empty() || names.iter().any(|name| table.text("abbr") == Some(name));
    let mut tables: Vec<(&mut Table, crate::syntax::source::Span)> = models
        .iter_mut()
        .filter_map(|node| match &mut node.value {
            Value::Table(table) => Some((table, node.span)),
            _ => None,
        })
        .collect();
    let wanted = tables.iter().filter(|(table, _)| is_wanted(table)).count();
    let mut without = Vec::new();
    for (table, span) in &mut tables {
        let has_place = table.text("path").is_some_and(|path| path.contains(PLACE));
        if is_wanted(table) && !has_place {
            without.push((table.text("abbr").unwrap_or_default().to_owned(), *span));
            if wanted == 1 {
                table.remove("path");
                let node = Node { value: Value::String(PLACE.into()), span: *span };
                table.entries.push(KeyValue { key: "path".into(), key_span: *span, node });
            }
        }
        for key in ["path", "tokenizer_path"] {
            if let Some(Node { value: Value::String(text), .. }) = table.get_mut(key) {
                *text = text.replace(PLACE, &directory);
            }
        }
    }
    if wanted < 2 {
        return;
    }
    for (name, span) in without {
        let message =
            format!("the model `{name}` has no place for the checkpoint: it would be evaluated again with each");
        let help = "write `path = \"${checkpoint}\"` in every model that is made of the checkpoint, and name these alone: \
                    `--models ABBR`";
        check.error(span, message, Some(help.into()));
    }
}
