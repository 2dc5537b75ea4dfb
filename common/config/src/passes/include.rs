//! Reading the file on the command line and what it includes: included files lie below, in the order named.

use crate::opencompass;
use crate::read::import;
use crate::report::check::Check;
use crate::syntax::merge::{NAMED_LISTS, merge_files};
use crate::syntax::parse::parse;
use crate::syntax::source::{Span, invalid_utf8, reason};
use crate::syntax::tree::{Table, Value};
use compass_common::regular_file;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Largest configuration file.
const MOST_BYTES: u64 = 16 << 20;

/// Reads `path` and everything it includes into one tree; `None` when something could not be read, which is reported.
pub(crate) fn read(check: &mut Check, path: &Path) -> Option<(Table, Span)> {
    let mut open = Vec::new();
    let (table, file) = read_file(check, path, None, &mut open)?;
    // Of a script, what is refused does not keep the rest from being checked.
    let is_script = path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("py"));
    (is_script || !check.has_errors()).then_some((table, file))
}

/// `named_at` is the place that includes `path`; `open` holds the files whose includes are being read.
fn read_file(check: &mut Check, path: &Path, named_at: Option<Span>, open: &mut Vec<PathBuf>) -> Option<(Table, Span)> {
    let read = std::fs::canonicalize(path).and_then(|canonical| Ok((regular_file::read(path, MOST_BYTES)?, canonical)));
    let (bytes, canonical) = match read {
        Ok(read) => read,
        Err(error) => {
            let help = match named_at {
                Some(_) => "paths are relative to the file that names them",
                None if error.kind() == std::io::ErrorKind::FileTooLarge => {
                    "a configuration names its data, and does not hold it: put rows into files, and import what is shared"
                }
                None => "give --config the path of a TOML file",
            };
            check.report(named_at, format!("cannot read `{}`: {}", path.display(), reason(&error)), Some(help.into()));
            return None;
        }
    };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let (bytes, at) = (error.as_bytes(), error.utf8_error().valid_up_to());
            if path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("py")) && !has_encoding(bytes) {
                let file = check.sources.add(path, canonical, String::from_utf8_lossy(bytes).into_owned());
                let span = Span { file, start: at, end: at + char::REPLACEMENT_CHARACTER.len_utf8() };
                let (line, byte) = (check.sources.origin(span).line, bytes.get(at).copied().unwrap_or_default());
                let code = format!("SyntaxError: Non-UTF-8 code starting with '\\x{byte:02x}'");
                let message = format!("{code} in file {} on line {line}, but no encoding declared", path.display());
                check.error(span, message, Some("save the file as UTF-8".into()));
                return None;
            }
            let place = invalid_utf8(bytes, at);
            let message = format!("`{}` is not UTF-8 text: {place}", path.display());
            check.report(named_at, message, Some("save the file as UTF-8".into()));
            return None;
        }
    };
    if is_python(path, &text) {
        return opencompass::read(check, path, canonical, text, named_at.is_some());
    }
    if open.contains(&canonical) {
        let message = format!("`{}` includes itself, directly or through others", path.display());
        check.report(named_at, message, Some("remove one `include` of the circle".into()));
        return None;
    }
    let file = check.sources.add(path, canonical.clone(), text);
    let mut table = parse(check, file)?;
    repeated_names(check, &table);
    import::apply(check, &table);

    open.push(canonical);
    let mut base = Table::default();
    for (name, span) in includes(check, &mut table) {
        let below = path.parent().unwrap_or(Path::new("")).join(name);
        // A file that cannot be read is reported and left out, so that the next one's errors are reported too.
        if let Some((table, _)) = read_file(check, &below, Some(span), open) {
            base = merge_files(base, table);
        }
    }
    open.pop();
    Some((merge_files(base, table), Span { file, start: 0, end: 0 }))
}

/// Returns `true` if a file is written in Python: by its name, or because it begins as only Python does.
pub(crate) fn is_python(path: &Path, text: &str) -> bool {
    let named = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("py"));
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let begins = |line: &str| {
        let imports = line.starts_with("import ") && !line.contains('=');
        imports || line.starts_with("from ") && line.contains(" import ") || line.starts_with("with read_base()")
    };
    named || lines.take(1).any(begins)
}

/// Returns `true` if a file in Python names its encoding, as it may in its first two lines.
fn has_encoding(bytes: &[u8]) -> bool {
    let names = |line: &[u8]| line.starts_with(b"#") && String::from_utf8_lossy(line).contains("coding");
    bytes.split(|byte| *byte == b'\n').take(2).any(names)
}

/// Takes `include` out of `table`.
fn includes(check: &mut Check, table: &mut Table) -> Vec<(String, Span)> {
    match table.remove("include") {
        Some(node) => check.texts("include", &node).unwrap_or_default(),
        None => Vec::new(),
    }
}

/// Within one file a name stands once; over several, the later one overrides.
fn repeated_names(check: &mut Check, table: &Table) {
    for (list, key) in NAMED_LISTS {
        let Some(Value::Array(items)) = table.get(list).map(|node| &node.value) else { continue };
        let mut first: BTreeMap<&str, Span> = BTreeMap::new();
        for node in items.iter().filter_map(|item| item.table()?.get(key)) {
            let Some(name) = node.text() else { continue };
            match first.get(name) {
                Some(&span) => {
                    let line = check.sources.origin(span).line;
                    let message = format!("a second [[{list}]] with `{key}` `{name}`");
                    check.error(
                        node.span,
                        message,
                        Some(format!("the first is in line {line}: give each its own name")),
                    );
                }
                None => {
                    first.insert(name, node.span);
                }
            }
        }
    }
}
