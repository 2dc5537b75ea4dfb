//! The type and the order of a template's labels.
//!
//! A key in Python is a text, a number or a boolean, and OpenCompass predicts the key itself: `1` is not `'1'` for an evaluator
//! that compares with `==`. A key in TOML is text, so the configuration says which it was. The order is that of the keys as
//! Python prints them, whatever it is in the file: OpenCompass writes the configuration down before it runs it, sorted by
//! `str(key)` (mmengine's `Config.dump`). The first label wins a tie, and is the one that is asked where an answer is generated.

use super::class;
use crate::syntax::source::Span;
use crate::syntax::tree::{KeyValue, Node, Table, Value};
use compass_python::{Node as PythonNode, Plain};

/// Keys of one dialogue, which are not labels.
const ROUNDS: &[&str] = &["begin", "round", "end"];

/// Names the type of the labels in the `infer_cfg` of the data set `entry`, where all labels have one type.
pub(super) fn name(table: &mut Table, entry: &PythonNode, span: Span) {
    let Some(Node { value: Value::Table(infer), .. }) = table.get_mut("infer_cfg") else { return };
    let theirs = entry.get("infer_cfg");
    let template = |key| theirs.and_then(|infer| infer.get(key)).and_then(of_template);
    // The prompt's template has the labels; without one, the shots' template is the prompt's.
    let Some(label_type) = template("prompt_template").or_else(|| template("ice_template")) else { return };
    if infer.get("label_type").is_none() {
        let node = Node { value: Value::String(label_type.to_owned()), span };
        infer.entries.push(KeyValue { key: "label_type".to_owned(), key_span: span, node });
    }
}

/// Puts the labels in the `infer_cfg` of the data set `entry` into OpenCompass's order.
pub(super) fn sort(table: &mut Table, entry: &PythonNode) {
    let Some(Node { value: Value::Table(infer), .. }) = table.get_mut("infer_cfg") else { return };
    let theirs = entry.get("infer_cfg");
    for key in ["ice_template", "prompt_template"] {
        let written = theirs.and_then(|infer| infer.get(key));
        let has_labels = written.and_then(entries).is_some_and(are_labels);
        let Some(node) = infer.get_mut(key).filter(|_| has_labels) else { continue };
        let Value::Table(template) = &mut node.value else { continue };
        let labels = match template.get_mut("template") {
            Some(Node { value: Value::Table(labels), .. }) => labels,
            _ => template,
        };
        labels.entries.sort_by(|one, other| one.key.cmp(&other.key));
    }
}

/// Returns the entries of a template by key.
fn entries(written: &PythonNode) -> Option<&[(PythonNode, PythonNode)]> {
    let template = match class::of(written) {
        Some(_) => written.get("template")?,
        None => written,
    };
    match &template.value {
        Plain::Dict(entries) => Some(entries),
        _ => None,
    }
}

/// Returns `true` if these are labels, and not the parts of one dialogue.
fn are_labels(entries: &[(PythonNode, PythonNode)]) -> bool {
    !entries.iter().all(|(key, _)| key.text().is_some_and(|key| ROUNDS.contains(&key)))
}

/// The type of the keys of a template that is written by label.
fn of_template(written: &PythonNode) -> Option<&'static str> {
    let entries = entries(written).filter(|entries| are_labels(entries))?;
    let mut types = entries.iter().map(|(key, _)| match key.value {
        Plain::Text(_) => Some("text"),
        Plain::Int(_) => Some("integer"),
        Plain::Bool(_) => Some("boolean"),
        _ => None,
    });
    let first = types.next()??;
    types.all(|other| other == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::source::FileId;
    use compass_python::Place;

    fn node(value: Plain) -> PythonNode {
        PythonNode { value, place: Place::default() }
    }

    fn text(text: &str) -> Plain {
        Plain::Text(text.into())
    }

    fn dict(entries: Vec<(Plain, Plain)>) -> Plain {
        Plain::Dict(entries.into_iter().map(|(key, value)| (node(key), node(value))).collect())
    }

    #[test]
    fn the_keys_of_a_template_have_one_type_or_none() {
        let labels = |keys: Vec<Plain>| dict(keys.into_iter().map(|key| (key, text("{q}"))).collect());
        let of = |template: Plain| {
            of_template(&node(dict(vec![(text("type"), text("PromptTemplate")), (text("template"), template)])))
        };
        assert_eq!(of(labels(vec![Plain::Int(1), Plain::Int(2)])), Some("integer"));
        assert_eq!(of(labels(vec![text("1"), text("2")])), Some("text"));
        assert_eq!(of(labels(vec![Plain::Bool(true), Plain::Bool(false)])), Some("boolean"));
        assert_eq!(of(labels(vec![Plain::Int(1), text("B")])), None);
        assert_eq!(of(labels(vec![text("begin"), text("round")])), None, "one dialogue has no labels");
        assert_eq!(of(text("{q}")), None);
        assert_eq!(of_template(&node(labels(vec![Plain::Int(0)]))), Some("integer"), "without a class around it");
    }

    #[test]
    fn labels_are_in_the_order_in_which_opencompass_runs_them() {
        let at = Span { file: FileId::default(), start: 0, end: 0 };
        let ours = |entries: Vec<(&str, Value)>| {
            let entry = |(key, value): (&str, Value)| KeyValue {
                key: key.into(),
                key_span: at,
                node: Node { value, span: at },
            };
            Value::Table(Table { entries: entries.into_iter().map(entry).collect() })
        };
        let sorted = |keys: &[&str]| -> Vec<String> {
            let labels = dict(keys.iter().map(|key| (text(key), text("{q}"))).collect());
            let entry = node(dict(vec![(text("infer_cfg"), dict(vec![(text("prompt_template"), labels)]))]));
            let labels = ours(keys.iter().map(|key| (*key, Value::String("{q}".into()))).collect());
            let Value::Table(mut table) = ours(vec![("infer_cfg", ours(vec![("prompt_template", labels)]))]) else {
                unreachable!("a table was made")
            };
            sort(&mut table, &entry);
            let infer = table.get("infer_cfg").and_then(Node::table).unwrap();
            let template = infer.get("prompt_template").and_then(Node::table).unwrap();
            template.entries.iter().map(|entry| entry.key.clone()).collect()
        };
        assert_eq!(sorted(&["2", "10", "1"]), ["1", "10", "2"], "as texts");
        assert_eq!(sorted(&["B", "a", "A"]), ["A", "B", "a"]);
        assert_eq!(sorted(&["round", "begin"]), ["round", "begin"], "one dialogue has no labels");
    }

    #[test]
    fn the_shots_template_counts_where_it_is_the_prompts() {
        let with = |key: &str, label: Plain| {
            let infer = dict(vec![(text(key), dict(vec![(label, text("{q}"))]))]);
            let entry = node(dict(vec![(text("infer_cfg"), infer)]));
            let at = Span { file: FileId::default(), start: 0, end: 0 };
            let infer = Node { value: Value::Table(Table::default()), span: at };
            let mut table = Table::default();
            table.entries.push(KeyValue { key: "infer_cfg".into(), key_span: at, node: infer });
            name(&mut table, &entry, at);
            let infer = table.get("infer_cfg").and_then(Node::table);
            infer.and_then(|infer| infer.text("label_type")).map(str::to_owned)
        };
        assert_eq!(with("ice_template", Plain::Int(1)).as_deref(), Some("integer"));
        assert_eq!(with("prompt_template", text("1")).as_deref(), Some("text"));
        assert_eq!(with("retriever", Plain::Int(1)), None);
    }
}
