//! Data sets, or models, of one name in one configuration: the files of the one would overwrite those of the other.
//!
//! OpenCompass computes both and keeps what was written last, and its table has one row. Entries that are equal, as in
//! `datasets = a + a`, are asked once here, which is said; others of one name are refused.

use crate::report::check::{Check, comment};
use crate::syntax::source::Span;
use crate::syntax::tree::{Node, Value, same};
use std::collections::BTreeMap;

/// Leaves one of equal entries in `list`, the value of `key`, and reports different ones that share an `abbr`. `noun` is what
/// an entry is called.
pub(super) fn settle(check: &mut Check, key: &str, noun: &str, list: &mut Node) {
    let list_span = list.span;
    let Value::Array(items) = &mut list.value else { return };
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let mut kept: Vec<Node> = Vec::with_capacity(items.len());
    let (mut equal, mut clashes): (Vec<String>, Vec<(String, Span, Span)>) = (Vec::new(), Vec::new());
    for item in std::mem::take(items) {
        let Some(name) = item.table().and_then(|table| table.text("abbr")).map(str::to_owned) else {
            kept.push(item);
            continue;
        };
        let known = first.get(&name).and_then(|at| kept.get(*at));
        match known {
            Some(known) if same(known, &item) => {
                if !equal.contains(&name) {
                    equal.push(name);
                }
                continue;
            }
            Some(known) => clashes.push((name, known.span, item.span)),
            None => {
                first.insert(name, kept.len());
            }
        }
        kept.push(item);
    }
    *items = kept;
    if let [(name, one, other), more @ ..] = clashes.as_slice() {
        let rest = match more.len() {
            0 => String::new(),
            1 => ", and one more name stands twice".to_owned(),
            count => format!(", and {count} more names stand twice"),
        };
        let places = format!("one is at {}, the other at {}", comment(check, *one), comment(check, *other));
        let help = format!("{places}; give one of them another `abbr`: their results would overwrite each other");
        // The file of a preset is none that a person can open.
        let at = if check.sources.is_preset(other.file) { list_span } else { *other };
        check.error(at, format!("two {noun}s have the `abbr` `{name}`{rest}"), Some(help));
    }
    if let [name, more @ ..] = equal.as_slice() {
        let rest = if more.is_empty() { String::new() } else { format!(", as do {} more", more.len()) };
        let help = "it is asked once: OpenCompass would ask again and overwrite the results";
        check.note(list_span, format!("the {noun} `{name}` stands in `{key}` more than once{rest}"), help);
    }
}

/// Returns `true` if `item`, which the name `asker` stands for, is asked already by another name, which has put it among
/// `defined`. One that is different and has the same `abbr` is reported.
pub(crate) fn is_asked(
    check: &mut Check,
    list: &str,
    asker: &str,
    item: &Node,
    defined: &[Node],
    asked: &BTreeMap<String, Vec<String>>,
) -> bool {
    let noun = if list == "dataset" { "data set" } else { "model" };
    let abbr = |node: &Node| Some(node.table()?.text("abbr")?.to_owned());
    let Some(name) = abbr(item) else { return false };
    let Some((other, _)) = asked.iter().find(|(other, abbrs)| *other != asker && abbrs.contains(&name)) else {
        return false;
    };
    let Some(known) = defined.iter().find(|node| abbr(node).as_ref() == Some(&name)) else { return false };
    if !same(known, item) {
        let message = format!("`{other}` and `{asker}` define two {noun}s of the `abbr` `{name}`");
        let places = format!("one is at {}, the other at {}", comment(check, known.span), comment(check, item.span));
        let help = format!("{places}; run them one after the other: their results would overwrite each other");
        check.report(None, message, Some(help));
    }
    true
}
