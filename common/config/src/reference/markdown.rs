//! The tables of the book: a page names them by a line `<!-- keys: master -->`, and `<!-- end -->` ends what is made.
//!
//! - `keys: TABLE`: the keys of a table.
//! - `types: TABLE`: its types with their meanings.
//! - `type keys: TABLE`: the keys that only go with some of its types.

use crate::keys::{Key, Kind, Standing, TableKeys};
use crate::read::top::TOP;
use crate::reference::TABLES;
use std::fmt::Write as _;

const BEGIN: &str = "<!-- ";
const CLOSE: &str = " -->";
const END: &str = "<!-- end -->";

/// The page with every table in it as the keys have it.
///
/// # Errors
/// What is wrong with the marks of the page.
pub fn reference_page(page: &str) -> Result<String, String> {
    let mut made = String::with_capacity(page.len());
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        made.push_str(line);
        made.push('\n');
        let Some(part) = part_of(line) else { continue };
        let table = table(part).ok_or_else(|| format!("no table of the configuration is called `{part}`"))?;
        if !lines.by_ref().any(|line| line == END) {
            return Err(format!("`{line}` has no `{END}`"));
        }
        let _ = write!(made, "\n{table}\n{END}\n");
    }
    Ok(made)
}

/// Every part that the book has to have, as its mark names it.
pub fn reference_parts() -> Vec<String> {
    let mut parts = Vec::new();
    for table in TABLES {
        let wanted = [
            ("keys", table.keys.iter().any(is_shown)),
            ("types", table.types.iter().any(|keys| !keys.meaning.is_empty())),
            ("type keys", !type_rows(table).is_empty()),
        ];
        // Pools name the launchers that runners have.
        let wanted = wanted.into_iter().filter(|(_, wanted)| *wanted && table.name != "launcher");
        parts.extend(wanted.map(|(part, _)| format!("{part}: {}", table.name)));
    }
    parts
}

/// Returns the part that a mark names: `keys: master`.
fn part_of(line: &str) -> Option<&str> {
    let part = line.strip_prefix(BEGIN)?.strip_suffix(CLOSE)?;
    ["keys: ", "types: ", "type keys: "].iter().any(|kind| part.starts_with(kind)).then_some(part)
}

fn table(part: &str) -> Option<String> {
    let (kind, name) = part.split_once(": ")?;
    let table = TABLES.into_iter().find(|table| table.name == name)?;
    let (head, rows): (&[&str], Vec<Vec<String>>) = match kind {
        "keys" => {
            let keys = table.keys.iter().filter(|key| is_shown(key));
            (&["key", "type", "default", "meaning"], keys.map(|key| row(table, key)).collect())
        }
        "types" => {
            let rows = table.types.iter().map(|keys| vec![code(keys.name), keys.meaning.to_owned()]);
            (&["type", "meaning"], rows.collect())
        }
        _ => (&["key", "of", "type", "default", "meaning"], type_rows(table)),
    };
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        text.push('|');
        for cell in row.iter().map(|cell| cell.replace('|', "\\|")) {
            let _ = if cell.is_empty() { write!(text, " |") } else { write!(text, " {cell} |") };
        }
        text.push('\n');
    }
    Some(text)
}

/// A `type` without a meaning of its own is what the table of types is about.
fn is_shown(key: &Key) -> bool {
    !key.meaning.is_empty()
}

/// The keys of types, each with the types that have it; verbs of columns are their own keys and are shown as examples.
fn type_rows(table: &'static TableKeys) -> Vec<Vec<String>> {
    let mut rows: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for keys in table.types {
        for key in keys.every_key().filter(|key| key.name != keys.name) {
            let cells = row(table, key);
            match rows.iter_mut().find(|(known, _)| *known == cells) {
                Some((_, types)) => types.push(code(keys.name)),
                None => rows.push((cells, vec![code(keys.name)])),
            }
        }
    }
    let with_types = rows.into_iter().map(|(mut cells, types)| {
        cells.insert(1, types.join(", "));
        cells
    });
    with_types.collect()
}

/// Key, type, default and meaning.
fn row(table: &TableKeys, key: &Key) -> Vec<String> {
    let name = match key.kind {
        Kind::Table(inner) | Kind::Tables(inner) if table.name == TOP.name => code(inner.title),
        _ => code(key.name),
    };
    let aliases = key.aliases.iter().map(|alias| format!(" (or `{alias}`)"));
    let (takes, meaning) = match key.standing {
        Standing::Served | Standing::Hidden => (takes(key), key.meaning.to_owned()),
        Standing::Ignored => (String::new(), format!("no effect: {}", key.meaning)),
        Standing::Later(meanwhile) => (String::new(), format!("not yet served; {meanwhile}")),
    };
    vec![name + &aliases.collect::<String>(), takes, key.default.to_owned(), meaning]
}

fn takes(key: &Key) -> String {
    match (key.takes, key.kind) {
        (Some(words), _) => words.to_owned(),
        (None, Kind::Choice(words)) => words().names.into_iter().map(code).collect::<Vec<_>>().join(", "),
        (None, kind) => in_words(kind).to_owned(),
    }
}

fn in_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "string",
        Kind::Path => "path",
        Kind::Duration => "duration",
        Kind::Boolean => "boolean",
        Kind::Whole(..) => "whole number",
        Kind::Number => "number",
        Kind::Choice(_) => "name",
        Kind::Texts => "array of strings",
        Kind::ArrayOf(_) => "array",
        Kind::MapOf(_) | Kind::Table(_) => "table",
        Kind::Tables(_) => "tables",
        Kind::Named(_) => "name or table",
        Kind::Either([first, others @ ..]) => match (first, others) {
            (Kind::Text, [Kind::Texts]) => "string or array of strings",
            (Kind::Text, [Kind::Whole(..)]) => "string or whole number",
            _ => "value",
        },
        Kind::Either([]) | Kind::Anything => "value",
    }
}

fn code(name: &str) -> String {
    format!("`{name}`")
}
