//! `preset` of a [[dataset]]: every key of a data set that ships with the program, then its own over them.
//!
//! So one preset is there under several names: each table makes data sets of its own. Runs once `for_each` is written out.

use crate::presets::data_sets;
use crate::presets::later::preset_later;
use crate::report::check::Check;
use crate::syntax::merge::merge_tables;
use crate::syntax::tree::{KeyValue, Node, Table, Value};
use compass_diagnostic::spelling;

/// Placeholder in an `abbr` for that of each data set of a preset.
const EACH: &str = "${abbr}";

/// Resolves `preset` in every [[dataset]] of `root`. What is wrong is reported, and its table left as it is.
pub(crate) fn resolve(check: &mut Check, root: &mut Table) {
    let Some(Node { value: Value::Array(tables), .. }) = root.get_mut("dataset") else { return };
    for node in std::mem::take(tables) {
        match resolved(check, &node) {
            Some(resolved) => tables.extend(resolved),
            None => tables.push(node),
        }
    }
}

fn resolved(check: &mut Check, node: &Node) -> Option<Vec<Node>> {
    let asked = node.table()?.get("preset")?;
    let name = asked.text().filter(|name| !name.is_empty())?;
    let found = data_sets::tables(check, name);
    if found.is_empty() {
        unknown(check, asked, name);
        return None;
    }
    let mut over = node.table()?.clone();
    over.remove("preset");
    inferencer_inside(check, &mut over);
    let abbr = over.remove("abbr");
    let written = abbr.as_ref().and_then(Node::text);
    if let (Some(abbr), Some(written)) = (&abbr, written)
        && found.len() > 1
        && !written.contains(EACH)
    {
        let names: Vec<&str> = found.iter().filter_map(|node| node.table()?.text("abbr")).take(1).collect();
        let help = format!(
            "write `abbr = \"{EACH}-{written}\"` for all of them, or `preset = \"{name}/{}\"` for one",
            names.first().unwrap_or(&"...")
        );
        check.error(abbr.span, format!("`{name}` is {} data sets, and this is one name", found.len()), Some(help));
        return None;
    }
    let named = |below: Node| -> Option<Node> {
        let Value::Table(mut table) = below.value else { return None };
        if let Some(abbr) = &abbr {
            let own = table.remove("abbr");
            let value = match abbr.text() {
                Some(text) => Value::String(text.replace(EACH, own.as_ref().and_then(Node::text).unwrap_or_default())),
                None => abbr.value.clone(),
            };
            let node = Node { value, span: abbr.span };
            table.entries.insert(0, KeyValue { key: "abbr".to_owned(), key_span: abbr.span, node });
        }
        merge_tables(&mut table, over.clone());
        Some(Node { value: Value::Table(table), span: node.span })
    };
    Some(found.into_iter().filter_map(named).collect())
}

/// `inferencer` beside `preset` is that of `infer_cfg`.
fn inferencer_inside(check: &mut Check, over: &mut Table) {
    let Some(key_span) = over.entry("inferencer").map(|entry| entry.key_span) else { return };
    let Some(node) = over.remove("inferencer") else { return };
    let span = node.span;
    if over.get("infer_cfg").is_none() {
        let infer = Node { value: Value::Table(Table::default()), span };
        over.entries.push(KeyValue { key: "infer_cfg".to_owned(), key_span, node: infer });
    }
    // Anything else than a table is reported where it is read.
    let Some(Node { value: Value::Table(infer), .. }) = over.get_mut("infer_cfg") else { return };
    if infer.get("inferencer").is_some() {
        let message = "`inferencer` stands beside `preset` and in `infer_cfg`".to_owned();
        check.error(key_span, message, Some("remove one of the two".into()));
        return;
    }
    infer.entries.push(KeyValue { key: "inferencer".to_owned(), key_span, node });
}

fn unknown(check: &mut Check, asked: &Node, name: &str) {
    if let Some((why, meanwhile)) = preset_later(name) {
        check.error(asked.span, format!("`{name}` is not yet supported: {why}"), Some(meanwhile.to_owned()));
        return;
    }
    let names = data_sets::names();
    let near = spelling::nearest(name, names.iter().map(String::as_str));
    let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    let help = format!("{near}`compass-master datasets` lists the presets");
    check.error(asked.span, format!("no preset is called `{name}`"), Some(help));
}
