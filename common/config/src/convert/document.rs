//! A configuration in Python as TOML: the tree that it was read into, printed, with the places where each part was written.
//!
//! The text is read back before it is given away: what it comes to is what was read, or nothing is given.

use super::{paths, secrets};
use crate::flags::overrides::Overrides;
use crate::passes::include;
use crate::report::check::{Check, comment};
use crate::report::left_out;
use crate::resolve::asked;
use crate::syntax::parse::parse;
use crate::syntax::toml_text;
use crate::syntax::tree::{Node, same_table};
use compass_diagnostic::{Diagnostic, Diagnostics};
use compass_settings::LeftOutKind;
use std::fmt::Write as _;
use std::path::Path;

/// A configuration as TOML.
#[derive(Clone, Debug, PartialEq)]
pub struct Converted {
    /// The text of the file.
    pub text: String,
    /// Settings that were accepted and have no effect, or stand for something else; the text names them, too.
    pub notes: Vec<Diagnostic>,
}

/// The configuration `path`, which is Python, as TOML for a file in `folder`. Paths that begin in the data folder stay relative to
/// it, and the file names that folder; all others become absolute. It does not look whether data and models exist.
///
/// # Errors
/// Everything that cannot be read, by file and position.
pub fn convert(path: &Path, folder: Option<&Path>, overrides: &Overrides) -> Result<Converted, Diagnostics> {
    let mut check = asked(overrides);
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
    secrets::refuse(check, &root);
    if check.has_errors() {
        return None;
    }
    paths::settle(check, &mut root, folder, overrides.data_dir.as_deref());
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
