//! Puts a row into a template, as OpenCompass's `safe_format` does.

use compass_pyfmt::python_str;
use serde_json::Value;
use std::borrow::Cow;

/// A row of a data set: columns in the order of the file.
pub type Row = serde_json::Map<String, Value>;

/// Replaces `{column}` by `str(value)` for each column in order.
///
/// Plain replacement, one column after the other: a later column also fills placeholders in text that an earlier one
/// brought in, and all other braces stay as they are.
pub fn safe_format(template: &str, row: &Row) -> String {
    fill(template, row, None)
}

/// [`safe_format`] with one column taken as the empty text, as the generation inferencer hides the gold answer.
pub(super) fn fill(template: &str, row: &Row, blank: Option<&str>) -> String {
    let mut text = Cow::Borrowed(template);
    for (column, value) in row {
        if !text.contains('{') {
            break;
        }
        let placeholder = format!("{{{column}}}");
        if text.contains(&placeholder) {
            let value = if blank == Some(column) { String::new() } else { python_str(value) };
            text = Cow::Owned(text.replace(&placeholder, &value));
        }
    }
    text.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(value: Value) -> Row {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn columns_are_replaced_in_order_and_braces_stay() {
        let row = row(json!({"b": "{a}", "a": "{c}", "c": 1, "d": ["x", true]}));
        assert_eq!(safe_format("{b} {{c}} {e} {d} \\frac{1}{2}", &row), "1 {1} {e} ['x', True] \\frac{1}{2}");
        // `a` comes before `z` in the row, so what `z` brings in is not filled any more.
        let row = self::row(json!({"a": 1, "z": "{a}"}));
        assert_eq!(safe_format("{z}", &row), "{a}");
    }

    #[test]
    fn a_blanked_column_is_empty() {
        let row = row(json!({"q": "why", "answer": "because"}));
        assert_eq!(fill("{q}? {answer}!", &row, Some("answer")), "why? !");
    }
}
