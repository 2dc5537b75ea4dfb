//! Answers of a question that has `options`: from a list column of any length, or from a template per label.

use super::format::{Row, safe_format};
use super::jinja;
use super::labels::each;
use super::labels::{self, GoldKind};
use super::template::Options;
use compass_pyfmt::{digits_beyond_64_bits, python_str};
use serde_json::Value;

/// One answer, without delimiter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) label: Value,
    pub(super) text: String,
}

/// The answers of a row in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answers {
    pub(super) all: Vec<Answer>,
    /// Positions of the right ones, as the gold answer lists them; never empty.
    pub(super) golds: Vec<usize>,
    /// The gold answer by position, where labels are positions: a number, or a list of numbers.
    pub(super) by_position: Option<Value>,
}

/// The column that `"{choices}"` or `"choices"` names.
pub fn column_name(written: &str) -> &str {
    written.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(written)
}

/// Reads the answers of one row.
///
/// A list's labels are 0, 1, 2, ...; its gold is such a position, the answer itself (lm-eval's `choices.index`), or a letter
/// from `A` on. A gold that is a list names several right answers.
///
/// # Errors
/// In words: no such column, not a list, a gold that is none of them.
pub(super) fn read(options: &Options, row: &Row, gold: &Value, kind: GoldKind) -> Result<Answers, String> {
    let labelled = |labels: Vec<&str>, texts: Vec<String>| {
        let at = |gold: &Value| labels::position(&labels, gold);
        let golds = each(gold).iter().map(at).collect::<Result<_, String>>()?;
        let all = labels.iter().zip(texts).map(|(label, text)| Answer { label: kind.typed(label), text });
        Ok::<_, String>(Answers { golds, all: all.collect(), by_position: None })
    };
    let answers = match options {
        Options::Labels(map) => {
            let texts = map.iter().map(|(_, text)| safe_format(text, row)).collect();
            labelled(map.iter().map(|(label, _)| label.as_str()).collect(), texts)?
        }
        Options::TemplateTexts(map) => {
            let texts = map.iter().map(|(_, text_template)| text_template.of(row, None)).collect::<Result<_, _>>()?;
            labelled(map.iter().map(|(label, _)| label.as_str()).collect(), texts)?
        }
        Options::List(texts) => by_position(texts.iter().map(|text| safe_format(text, row)).collect(), gold)?,
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
    match answers.golds.is_empty() {
        true => Err("the gold answer is an empty list: no answer would be right".into()),
        false => Ok(answers),
    }
}

/// The answers alone, without a gold one.
///
/// # Errors
/// As [`read`].
pub(super) fn texts(options: &Options, row: &Row) -> Result<Vec<String>, String> {
    match options {
        Options::Labels(map) => Ok(map.iter().map(|(_, text)| safe_format(text, row)).collect()),
        Options::TemplateTexts(map) => map.iter().map(|(_, text_template)| text_template.of(row, None)).collect(),
        Options::List(texts) => Ok(texts.iter().map(|text| safe_format(text, row)).collect()),
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
    let golds: Vec<usize> = each(gold).iter().map(|gold| position(gold, &texts)).collect::<Result<_, _>>()?;
    let by_position = match gold {
        Value::Array(_) => golds.iter().copied().map(Value::from).collect(),
        _ => golds.first().copied().map_or(Value::Null, Value::from),
    };
    let all = texts.into_iter().enumerate().map(|(at, text)| Answer { label: at.into(), text });
    Ok(Answers { all: all.collect(), golds, by_position: Some(by_position) })
}

fn position(gold: &Value, texts: &[String]) -> Result<usize, String> {
    let letter = |text: &str| match text.as_bytes() {
        [letter @ b'A'..=b'Z'] => Some(usize::from(letter - b'A')),
        _ => None,
    };
    let at = match gold {
        Value::Number(number) => number.as_u64().and_then(|at| usize::try_from(at).ok()),
        Value::String(text) => texts.iter().position(|answer| answer == text).or_else(|| letter(text)),
        other => digits_beyond_64_bits(other).and_then(|digits| texts.iter().position(|answer| answer == digits)),
    };
    at.filter(|&at| at < texts.len()).ok_or_else(|| {
        let count = texts.len();
        format!(
            "the gold answer {gold} is none of {count} answers: give its position (0 is the first), the answer itself, a \
             letter from A on, or a list of these"
        )
    })
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        value if digits_beyond_64_bits(value).is_some() => "a number",
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
        assert_eq!(answers.golds, [2]);
        assert_eq!(answers.all[1], Answer { label: json!(1), text: "2".into() });
        assert_eq!(column(json!({"choices": ["a", "b"]}), json!("B")).unwrap().golds, [1]);
        assert_eq!(column(json!({"choices": ["a", "b"]}), json!("b")).unwrap().golds, [1], "the answer itself");
        assert_eq!(column(json!({"choices": ["B", "A"]}), json!("A")).unwrap().golds, [1], "before a letter");
        assert_eq!(column(json!({"choices": ["a", ""]}), json!(1)).unwrap().all[1].text, "");
    }

    #[test]
    fn several_right_answers() {
        let answers = column(json!({"choices": ["a", "b", "c"]}), json!([2, "a"])).unwrap();
        assert_eq!((answers.golds, answers.by_position), (vec![2, 0], Some(json!([2, 0]))));
        let one = column(json!({"choices": ["a", "b", "c"]}), json!([1])).unwrap();
        assert_eq!(one.by_position, Some(json!([1])), "a list stays one");
        let map = ["x", "y"].map(|label| (label.to_owned(), label.to_owned())).to_vec();
        let answers = read(&Options::Labels(map), &Row::new(), &json!(["y"]), GoldKind::Mixed).unwrap();
        assert_eq!((answers.golds, answers.by_position), (vec![1], None));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (row, gold, said) in [
            (json!({"choices": ["a", "b"]}), json!(2), "none of 2 answers"),
            (json!({"choices": ["a", "b"]}), json!("C"), "none of 2"),
            (json!({"choices": ["a", "b"]}), json!("c"), "none of 2"),
            (json!({"choices": ["a", "b"]}), json!(-1), "none of 2"),
            (json!({"choices": ["a", "b"]}), json!([0, 2]), "the gold answer 2 is none of 2"),
            (json!({"choices": ["a", "b"]}), json!([]), "empty list"),
            (json!({"choices": "a"}), json!(0), "holds a text"),
            (json!({"choice": []}), json!(0), "no column `choices`"),
        ] {
            let error = column(row, gold).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
