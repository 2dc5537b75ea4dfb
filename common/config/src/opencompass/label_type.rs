//! The type of a template's labels. A key in Python is a text, a number or a boolean, and OpenCompass predicts the key itself:
//! `1` is not `'1'` for an evaluator that compares with `==`. A key in TOML is text, so the configuration says which it was.

use super::class;
use crate::source::Span;
use crate::tree::{KeyValue, Node, Table, Value};
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

/// The type of the keys of a template that is written by label.
fn of_template(written: &PythonNode) -> Option<&'static str> {
    let template = match class::of(written) {
        Some(_) => written.get("template")?,
        None => written,
    };
    let Plain::Dict(entries) = &template.value else { return None };
    if entries.iter().all(|(key, _)| key.text().is_some_and(|key| ROUNDS.contains(&key))) {
        return None;
    }
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
    use crate::source::FileId;
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
