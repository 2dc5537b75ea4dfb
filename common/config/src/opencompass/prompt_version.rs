//! OpenCompass's version of a data set: what its table shows in the column of that name, and what names of its files end with.
//!
//! It is the SHA-256 of `infer_cfg` as `json.dumps(..., sort_keys=True)` writes it, with classes as their dotted names
//! (`get_prompt_hash` of `opencompass/utils/prompt.py`).

use compass_pyfmt::{json_float, json_text};
use compass_python::{Node, Plain};
use ring::digest::{SHA256, digest};
use std::cmp::Ordering;

/// Hexadecimal digits that the table shows.
const SHOWN: usize = 6;

/// The version of an entry of `datasets`; `None` where OpenCompass would have none either: what has no value in JSON.
pub(super) fn of(entry: &Node) -> Option<String> {
    let Plain::Dict(entries) = &entry.get("infer_cfg")?.value else { return None };
    // In `infer_cfg` a reader would count too; no file of OpenCompass has one there.
    let parts: Vec<(&str, &Node)> = entries.iter().filter_map(|(key, node)| Some((key.text()?, node))).collect();
    if parts.len() < entries.len() || parts.iter().any(|(key, _)| *key == "reader_cfg") {
        return None;
    }
    let fixed = parts.iter().find(|(key, _)| *key == "retriever").and_then(|(_, node)| node.get("fix_id_list"));
    let mut texts = parts
        .into_iter()
        .map(|(key, node)| {
            let fixed = fixed.map(|ids| ("fix_id_list", ids));
            let text = match key {
                // Older versions had the fixed shots with the inferencer, and their digests are kept.
                "retriever" => changed(node, |key| key != "fix_id_list", None)?,
                "inferencer" if fixed.is_some() => changed(node, |key| key != "fix_id_list", fixed)?,
                _ => json(node)?,
            };
            Some((key, text))
        })
        .collect::<Option<Vec<_>>>()?;
    texts.sort_by_key(|(key, _)| *key);
    let texts = texts.into_iter().map(|(key, text)| format!("{}: {text}", quoted(key)));
    let text = format!("{{{}}}", texts.collect::<Vec<_>>().join(", "));
    let digest = digest(&SHA256, text.as_bytes());
    let digits: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    digits.get(..SHOWN).map(str::to_owned)
}

/// The JSON of a dict with the entries whose key `keep` takes, and one more.
fn changed(node: &Node, keep: impl Fn(&str) -> bool, more: Option<(&str, &Node)>) -> Option<String> {
    let Plain::Dict(entries) = &node.value else { return json(node) };
    let entries = entries.iter().filter(|(key, _)| key.text().is_none_or(&keep));
    let mut all: Vec<(Key<'_>, &Node)> =
        entries.map(|(key, node)| Some((Key::of(key)?, node))).collect::<Option<_>>()?;
    all.extend(more.map(|(key, node)| (Key::Text(key), node)));
    object(all)
}

/// `json.dumps(value, sort_keys=True)`.
fn json(node: &Node) -> Option<String> {
    Some(match &node.value {
        Plain::None => "null".to_owned(),
        Plain::Bool(value) => value.to_string(),
        Plain::Int(value) => value.to_string(),
        Plain::Float(value) => json_float(*value),
        Plain::Text(text) | Plain::Symbol(text) => quoted(text),
        Plain::List(items) | Plain::Tuple(items) => {
            format!("[{}]", items.iter().map(json).collect::<Option<Vec<_>>>()?.join(", "))
        }
        Plain::Dict(entries) => {
            object(entries.iter().map(|(key, node)| Some((Key::of(key)?, node))).collect::<Option<_>>()?)?
        }
        Plain::Other(_) => return None,
    })
}

/// A key, which is sorted as what it is and written as a text.
#[derive(Clone, Copy)]
enum Key<'n> {
    Text(&'n str),
    Int(i128),
}

impl<'n> Key<'n> {
    fn of(node: &'n Node) -> Option<Self> {
        match &node.value {
            Plain::Text(text) => Some(Self::Text(text)),
            Plain::Int(value) => Some(Self::Int(*value)),
            _ => None,
        }
    }
}

/// `None` for keys that Python does not sort: texts and numbers in one dict.
fn object(mut entries: Vec<(Key<'_>, &Node)>) -> Option<String> {
    let texts = entries.iter().filter(|(key, _)| matches!(key, Key::Text(_))).count();
    if texts != 0 && texts != entries.len() {
        return None;
    }
    entries.sort_by(|(a, _), (b, _)| match (a, b) {
        (Key::Text(a), Key::Text(b)) => a.cmp(b),
        (Key::Int(a), Key::Int(b)) => a.cmp(b),
        _ => Ordering::Equal,
    });
    let entry = |(key, node): (Key<'_>, &Node)| {
        let key = match key {
            Key::Text(text) => quoted(text),
            Key::Int(value) => format!("\"{value}\""),
        };
        Some(format!("{key}: {}", json(node)?))
    };
    Some(format!("{{{}}}", entries.into_iter().map(entry).collect::<Option<Vec<_>>>()?.join(", ")))
}

/// A text as `json.dumps` writes it: ASCII alone.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    json_text(&mut out, text, true);
    out
}
