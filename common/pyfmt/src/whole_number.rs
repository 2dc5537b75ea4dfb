//! Whole numbers beyond 64 bits among JSON values, which hold none: a table of one key, which no data has, with the digits.
//!
//! A text of the digits would be taken for a text: in a list Python prints it in quotation marks. What prints values
//! ([`crate::python_repr`]), and what reads or makes numbers, knows the table; what else would write it down takes
//! [`with_texts`].

use serde_json::{Map, Value};

/// The key. No JSON that a person writes has it.
pub(crate) const KEY: &str = "\u{0}int";

/// The number as JSON: as it is within 64 bits, else the table that represents it.
pub fn whole_number(number: i128) -> Value {
    match (i64::try_from(number), u64::try_from(number)) {
        (Ok(number), _) => number.into(),
        (_, Ok(number)) => number.into(),
        _ => beyond_64_bits(number.to_string()),
    }
}

/// The table that represents a number of these digits.
pub(crate) fn beyond_64_bits(digits: String) -> Value {
    Value::Object(Map::from_iter([(KEY.to_owned(), Value::String(digits))]))
}

/// The digits of a whole number beyond 64 bits, with its sign; `None` for any other value.
pub fn digits_beyond_64_bits(value: &Value) -> Option<&str> {
    match value {
        Value::Object(entries) => digits_beyond_64_bits_of(entries),
        _ => None,
    }
}

/// Returns the value with texts of digits in place of whole numbers beyond 64 bits, for callers that do not know the table.
#[must_use]
pub fn with_texts(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(with_texts).collect(),
        Value::Object(entries) => match digits_beyond_64_bits_of(&entries) {
            Some(digits) => digits.into(),
            None => Value::Object(entries.into_iter().map(|(key, value)| (key, with_texts(value))).collect()),
        },
        other => other,
    }
}

fn digits_beyond_64_bits_of(entries: &Map<String, Value>) -> Option<&str> {
    let digits = entries.get(KEY).filter(|_| entries.len() == 1)?.as_str()?;
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    (!unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

/// Returns true if the value holds a number beyond 64 bits.
pub fn holds_beyond_64_bits(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(holds_beyond_64_bits),
        Value::Object(entries) => {
            digits_beyond_64_bits_of(entries).is_some() || entries.values().any(holds_beyond_64_bits)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{python_repr, whole_numbers_kept};
    use serde_json::json;

    const JSON: &str = r#"{"a": [123456789012345678901234567890, "123456789012345678901234567890", {"b": -18446744073709551616}], "c": 1}"#;

    #[test]
    fn numbers_beyond_64_bits_print_as_python_prints_them() {
        let value: Value = serde_json::from_str(&whole_numbers_kept(JSON)).unwrap();
        // str(json.loads(JSON)) of CPython 3.11
        let expected = "{'a': [123456789012345678901234567890, '123456789012345678901234567890', {'b': -18446744073709551616}], 'c': 1}";
        assert_eq!(python_repr(&value), expected);
        let again: Value = serde_json::from_str(&value.to_string()).unwrap();
        assert_eq!(again, value, "it is written down and read again");
        assert!(holds_beyond_64_bits(&value));
        let texts = with_texts(value);
        assert_eq!(
            texts["a"],
            json!(["123456789012345678901234567890", "123456789012345678901234567890", {"b": "-18446744073709551616"}])
        );
        assert!(!holds_beyond_64_bits(&texts));
    }

    #[test]
    fn numbers_within_64_bits_are_numbers() {
        assert_eq!(whole_number(-5), json!(-5));
        assert_eq!(whole_number(u64::MAX.into()), json!(u64::MAX));
        let beyond = whole_number(i128::from(u64::MAX) + 1);
        assert_eq!(digits_beyond_64_bits(&beyond), Some("18446744073709551616"));
        assert_eq!(digits_beyond_64_bits(&json!({"int": "1"})), None);
        for other in ["", "-", "1.5", "Robert"] {
            assert_eq!(digits_beyond_64_bits(&json!({KEY: other})), None, "{other:?}");
        }
    }
}
