//! `version` of a data set: what the table's column of that name shows.
//!
//! Names of OpenCompass's presets end with the digest of what they ask, which is its version there. Here a preset brings it
//! along with a fingerprint of its `infer_cfg`: under another one other prompts are asked, whatever changed it, and their own
//! digest is shown. A data set of a configuration in Python brings the version that OpenCompass shows of it, in the same way.

use crate::read::fields::Fields;
use crate::report::check::Check;
use crate::syntax::tree::{KeyValue, Node, Table, Value};
use compass_types::ids::Digest;

/// Between the digest and the fingerprint.
const MARK: char = '@';

/// Gives the data sets of a preset the digest in its name, where there is one.
pub(crate) fn mark(preset: &str, root: &mut Table) {
    let Some(digest) = digest_of_name(preset) else { return };
    let Some(Node { value: Value::Array(tables), .. }) = root.get_mut("dataset") else { return };
    for node in tables {
        let span = node.span;
        if let Value::Table(table) = &mut node.value
            && table.get("version").is_none()
        {
            let text = format!("{digest}{MARK}{}", fingerprint(table));
            let node = Node { value: Value::String(text), span };
            table.entries.push(KeyValue { key: "version".to_owned(), key_span: span, node });
        }
    }
}

/// Lets the version of a data set hold for the `infer_cfg` that it has now.
pub(crate) fn bind(dataset: &mut Table) {
    let asked = fingerprint(dataset);
    if let Some(Node { value: Value::String(text), .. }) = dataset.get_mut("version") {
        *text = format!("{text}{MARK}{asked}");
    }
}

/// The version that a data set says of itself; `None` leaves it to the digest of its prompts.
pub(crate) fn read(check: &mut Check, fields: &mut Fields<'_>) -> Option<String> {
    let text = fields.text(check, "version")?;
    match text.split_once(MARK) {
        None => Some(text.to_owned()),
        Some((digest, asked)) => (asked == fingerprint(fields.table)).then(|| digest.to_owned()),
    }
}

/// `18632c` of `siqa_gen_18632c`.
fn digest_of_name(name: &str) -> Option<&str> {
    let (_, last) = name.rsplit_once('_')?;
    let is_digest = last.len() == 6 && last.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_digest.then_some(last)
}

fn fingerprint(dataset: &Table) -> String {
    let mut text = String::new();
    if let Some(node) = dataset.get("infer_cfg") {
        write(&mut text, node);
    }
    Digest::of(text.as_bytes()).short()
}

/// A value without its places; keys in the order of their names.
fn write(out: &mut String, node: &Node) {
    match &node.value {
        Value::String(text) => *out += &format!("{text:?}"),
        Value::Integer(number) => *out += &number.to_string(),
        Value::Float(number) => *out += &format!("{number:?}"),
        Value::Boolean(truth) => *out += &truth.to_string(),
        Value::Datetime => out.push('?'),
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write(out, item);
                out.push(',');
            }
            out.push(']');
        }
        Value::Table(table) => {
            let mut entries: Vec<&KeyValue> = table.entries.iter().collect();
            entries.sort_by(|a, b| a.key.cmp(&b.key));
            out.push('{');
            for entry in entries {
                *out += &format!("{:?}:", entry.key);
                write(out, &entry.node);
                out.push(',');
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_six_hexadecimal_digits_at_the_end_of_a_name() {
        for (name, digest) in [
            ("siqa_gen_18632c", Some("18632c")),
            ("math_0shot_gen_393424", Some("393424")),
            ("mmlu_ppl_ac766d", Some("ac766d")),
            ("lm_eval_arc_easy", None),
            ("gsm8k_new_gen", None),
            ("siqa_gen_18632C", None),
        ] {
            assert_eq!(digest_of_name(name), digest, "{name}");
        }
    }
}
