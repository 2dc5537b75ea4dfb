//! A configuration in Python as TOML: the tree that it was read into, printed, with the places where each part was written.
//!
//! The text is read back before it is given away: what it comes to is what was read, or nothing is given.

use super::check::Check;
use super::convert_paths;
use super::convert_secrets;
use super::include;
use super::left_out::{self, LeftOutKind};
use super::overrides::Overrides;
use super::parse::parse;
use super::source::Span;
use super::toml_text;
use super::tree::{Node, Table, Value};
use compass_diagnostic::{Diagnostic, Diagnostics};
use std::fmt::Write;
use std::path::Path;

/// A configuration as TOML.
#[derive(Clone, Debug, PartialEq)]
pub struct Converted {
    /// The text of the file.
    pub text: String,
    /// What was accepted and has no effect, or stands for something else; the text names it, too.
    pub notes: Vec<Diagnostic>,
}

/// The configuration `path`, which is Python, as TOML for a file in `folder`. Paths that begin in the data folder stay relative to
/// it, and the file names that folder; all others become absolute. It does not look whether data and models exist.
///
/// # Errors
/// Everything that cannot be read, by file and position.
pub fn convert(path: &Path, folder: Option<&Path>, overrides: &Overrides) -> Result<Converted, Diagnostics> {
    let mut check = Check::of(overrides);
    let text = if check.has_errors() { None } else { read(&mut check, path, folder, overrides) };
    if text.is_none() && !check.has_errors() {
        check.report(None, format!("`{}` is not usable", path.display()), Some("please report this file".into()));
    }
    let notes = check.finish()?;
    let body = text.ok_or_else(Diagnostics::default)?;
    Ok(Converted { text: head(path, &notes) + &body, notes })
}

fn read(check: &mut Check, path: &Path, folder: Option<&Path>, overrides: &Overrides) -> Option<String> {
    let (mut root, span) = include::read(check, path)?;
    if !include::is_python(check.sources.path(span.file), check.sources.text(span.file)) {
        let message = format!("`{}` is TOML already", path.display());
        check.report(None, message, Some("convert takes a configuration in Python".into()));
        return None;
    }
    for (key, kind) in [("model", LeftOutKind::Model), ("dataset", LeftOutKind::Dataset)] {
        if root.get(key).is_none_or(Node::is_empty) {
            left_out::nothing_left(check, kind);
        }
    }
    convert_secrets::refuse(check, &root);
    if check.has_errors() {
        return None;
    }
    convert_paths::settle(check, &mut root, folder, overrides.data_dir.as_deref());
    let text = toml_text::document(&root, &|span| comment(check, span));
    let mut again = Check::default();
    let file = again.sources.add_flags(text.clone());
    match parse(&mut again, file) {
        Some(parsed) if same_table(&toml_text::ordered(&root), &parsed) => Some(text),
        _ => {
            let message = format!("`{}` cannot be written as TOML", path.display());
            check.report(None, message, Some("run it as it is, and please report this file".into()));
            None
        }
    }
}

/// Where a part was written, for a comment.
pub(super) fn comment(check: &Check, span: Span) -> String {
    let shown = |path: &Path| path.display().to_string().replace(char::is_control, "\u{fffd}");
    let path = check.sources.path(span.file);
    match check.sources.is_preset(span.file) {
        true => format!("{}, which comes with the program", shown(Path::new(path.file_stem().unwrap_or_default()))),
        false => format!("{}:{}", shown(path), check.sources.origin(span).line),
    }
}

fn head(path: &Path, notes: &[Diagnostic]) -> String {
    let plain = |text: &str| text.replace(char::is_control, "\u{fffd}");
    let mut text = format!("# What `compass-master convert` understood of {}.\n", plain(&path.display().to_string()));
    for note in notes {
        let place = note.origin().map(|origin| format!("{}:{}: ", origin.file.display(), origin.line));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# note: {}{}", plain(&place.unwrap_or_default()), plain(&note.message));
    }
    text.push('\n');
    text
}

/// Whether two tables have the same keys in the same order with the same values.
fn same_table(a: &Table, b: &Table) -> bool {
    let pairs = a.entries.iter().zip(&b.entries);
    a.entries.len() == b.entries.len() && pairs.into_iter().all(|(a, b)| a.key == b.key && same(&a.node, &b.node))
}

/// Whether two values are equal, wherever they were written.
pub(super) fn same(a: &Node, b: &Node) -> bool {
    match (&a.value, &b.value) {
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Integer(a), Value::Integer(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        (Value::Boolean(a), Value::Boolean(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Table(a), Value::Table(b)) => same_table(a, b),
        _ => false,
    }
}
