//! Answers of a question that has `options`: from a list column of any length, or from a template per label.

use super::format::{Row, safe_format};
use super::jinja;
use super::labels::{self, GoldKind};
use super::python_text::python_str;
use super::template::Options;
use serde_json::Value;

/// One answer, without delimiter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) label: Value,
    pub(super) text: String,
}

/// The answers of a row in order and the position of the gold one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answers {
    pub(super) all: Vec<Answer>,
    pub(super) gold: usize,
}

/// The column that `"{choices}"` or `"choices"` names.
pub fn column_name(written: &str) -> &str {
    written.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(written)
}

/// Reads the answers of one row.
///
/// A list column's labels are 0, 1, 2, ...; its gold is such a position, or a letter from `A` on for it.
///
/// # Errors
/// In words: no such column, not a list, an empty answer, a gold that is none of them.
pub(super) fn read(options: &Options, row: &Row, gold: &Value, kind: GoldKind) -> Result<Answers, String> {
    let answers = match options {
        Options::Labels(map) => Answers {
            all: map
                .iter()
                .map(|(label, text)| Answer { label: kind.typed(label), text: safe_format(text, row) })
                .collect(),
            gold: map
                .iter()
                .position(|(label, _)| labels::names(label, gold))
                .ok_or_else(|| labels::find(map, gold).err().unwrap_or_default())?,
        },
        Options::Jinja(source) => by_position(jinja::list(source, row)?, gold)?,
        Options::Column(written) => {
            let column = column_name(written);
            let value = row.get(column).ok_or_else(|| format!("has no column `{column}`, where `options` looks"))?;
            let Value::Array(items) = value else {
                return Err(format!(
                    "column `{column}` holds {}, but `options` wants a list of answers",
                    kind_of(value)
                ));
            };
            by_position(items.iter().map(python_str).collect(), gold)?
        }
    };
    match answers.all.iter().position(|answer| answer.text.is_empty()) {
        Some(at) => Err(format!("answer {at} is empty: nothing could be scored")),
        None => Ok(answers),
    }
}

/// The answers alone, without a gold one.
///
/// # Errors
/// As [`read`].
pub(super) fn texts(options: &Options, row: &Row) -> Result<Vec<String>, String> {
    match options {
        Options::Labels(map) => Ok(map.iter().map(|(_, text)| safe_format(text, row)).collect()),
        Options::Jinja(source) => jinja::list(source, row),
        Options::Column(written) => {
            let column = column_name(written);
            let items = row.get(column).and_then(Value::as_array);
            let items = items.ok_or_else(|| format!("has no list in column `{column}`, where `options` looks"))?;
            Ok(items.iter().map(python_str).collect())
        }
    }
}

fn by_position(texts: Vec<String>, gold: &Value) -> Result<Answers, String> {
    let gold = position(gold, texts.len())?;
    let all = texts.into_iter().enumerate().map(|(at, text)| Answer { label: at.into(), text });
    Ok(Answers { all: all.collect(), gold })
}

fn position(gold: &Value, count: usize) -> Result<usize, String> {
    let at = match gold {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => match text.as_bytes() {
            [letter @ b'A'..=b'Z'] => Some(u64::from(letter - b'A')),
            _ => None,
        },
        _ => None,
    };
    at.and_then(|at| usize::try_from(at).ok()).filter(|&at| at < count).ok_or_else(|| {
        format!(
            "the gold answer {gold} is no position among {count} answers (0 is the first; letters from A on will do)"
        )
    })
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn column(row: Value, gold: Value) -> Result<Answers, String> {
        let row = row.as_object().unwrap().clone();
        read(&Options::Column("{choices}".into()), &row, &gold, GoldKind::Integers)
    }

    #[test]
    fn a_list_column_of_any_length() {
        let answers = column(json!({"choices": ["a", 2, "c"]}), json!(2)).unwrap();
        assert_eq!(answers.gold, 2);
        assert_eq!(answers.all[1], Answer { label: json!(1), text: "2".into() });
        assert_eq!(column(json!({"choices": ["a", "b"]}), json!("B")).unwrap().gold, 1);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (row, gold, said) in [
            (json!({"choices": ["a", "b"]}), json!(2), "no position among 2 answers"),
            (json!({"choices": ["a", "b"]}), json!("C"), "no position"),
            (json!({"choices": ["a", "b"]}), json!("b"), "no position"),
            (json!({"choices": ["a", "b"]}), json!(-1), "no position"),
            (json!({"choices": "a"}), json!(0), "holds a text"),
            (json!({"choice": []}), json!(0), "no column `choices`"),
            (json!({"choices": ["a", ""]}), json!(0), "answer 1 is empty"),
        ] {
            let error = column(row, gold).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
