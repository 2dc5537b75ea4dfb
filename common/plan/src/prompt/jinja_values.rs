//! Values between rows and Jinja: whole numbers beyond 64 bits, which neither JSON's numbers nor all of minijinja's hold, and
//! `tojson` as Jinja2 has it.

use super::format::Row;
use super::template_limits;
use compass_pyfmt::{digits_beyond_64_bits, holds_beyond_64_bits, json_float, json_text, python_str, whole_number};
use minijinja::value::{Enumerator, Kwargs, Object, ValueKind};
use minijinja::{Error, ErrorKind, Value};
use serde_json::Value as Json;
use std::fmt;
use std::sync::Arc;

/// Widest indentation of a level.
const MOST_INDENT: usize = 256;

/// A whole number of more digits than minijinja counts with: it prints as its digits, and is written as what stands for it.
#[derive(Debug)]
struct Digits(Json);

impl Object for Digits {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        Some(Value::from_serialize(self.0.get(key.as_str()?)?))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let keys = self.0.as_object().into_iter().flat_map(|entries| entries.keys());
        Enumerator::Values(keys.map(Value::from).collect())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&python_str(&self.0))
    }
}

/// The variables of a row.
pub(super) fn variables(row: &Row) -> Value {
    if !row.values().any(holds_beyond_64_bits) {
        return Value::from_serialize(row);
    }
    row.iter().map(|(name, value)| (name.clone(), variable(value))).collect()
}

fn variable(value: &Json) -> Value {
    if let Some(digits) = digits_beyond_64_bits(value) {
        return match digits.parse::<i128>() {
            Ok(number) => Value::from(number),
            Err(_) => Value::from_object(Digits(value.clone())),
        };
    }
    match value {
        Json::Array(items) => items.iter().map(variable).collect(),
        Json::Object(entries) => entries.iter().map(|(key, value)| (key.clone(), variable(value))).collect(),
        other => Value::from_serialize(other),
    }
}

/// A value of a template as JSON.
///
/// # Errors
/// It is none, as a function is.
pub(super) fn json(value: &Value) -> Result<Json, Error> {
    // JSON's numbers end at 64 bits.
    serde_json::to_value(value).or_else(|error| match value.kind() {
        ValueKind::Number if value.is_integer() => i128::try_from(value.clone()).map(whole_number),
        ValueKind::Seq | ValueKind::Iterable => value.try_iter()?.map(|item| json(&item)).collect(),
        ValueKind::Map => {
            let entry = |key: Value| Ok((key.to_string(), json(&value.get_item(&key)?)?));
            value.try_iter()?.map(entry).collect::<Result<_, Error>>().map(Json::Object)
        }
        _ => Err(Error::new(ErrorKind::BadSerialization, error.to_string())),
    })
}

/// Jinja2's `tojson`: `json.dumps(value, sort_keys=True, indent=indent)`, with what HTML takes for its own escaped.
///
/// # Errors
/// As [`json`], and for a value or an indentation beyond [`template_limits`].
pub(super) fn tojson(value: &Value, indent: Option<usize>, named: Kwargs) -> Result<Value, Error> {
    template_limits::value_fits(value)?;
    let indent = indent.or(named.get::<Option<usize>>("indent")?);
    named.assert_all_used()?;
    if indent.is_some_and(|indent| indent > MOST_INDENT) {
        let what = format!("tojson indents by at most {MOST_INDENT}");
        return Err(Error::new(ErrorKind::InvalidOperation, what));
    }
    let mut out = String::new();
    dump(&mut out, &json(value)?, indent, 0);
    let escapes = [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\'', "\\u0027")];
    let escaped = escapes.iter().fold(out, |text, (from, to)| text.replace(*from, to));
    Ok(Value::from_safe_string(escaped))
}

fn dump(out: &mut String, value: &Json, indent: Option<usize>, depth: usize) {
    let line = |out: &mut String, depth: usize| {
        if let Some(indent) = indent {
            out.push('\n');
            out.push_str(&" ".repeat(indent * depth));
        }
    };
    let separator = if indent.is_some() { "," } else { ", " };
    match value {
        number if let Some(digits) = digits_beyond_64_bits(number) => out.push_str(digits),
        Json::Null => out.push_str("null"),
        Json::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Json::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => out.push_str(&json_float(float)),
            None => out.push_str(&number.to_string()),
        },
        Json::String(text) => json_text(out, text, true),
        Json::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { separator } else { "" });
                line(out, depth + 1);
                dump(out, item, indent, depth + 1);
            }
            if !items.is_empty() {
                line(out, depth);
            }
            out.push(']');
        }
        Json::Object(entries) => {
            let mut sorted: Vec<(&String, &Json)> = entries.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, item)) in sorted.iter().enumerate() {
                out.push_str(if at > 0 { separator } else { "" });
                line(out, depth + 1);
                json_text(out, key, true);
                out.push_str(": ");
                dump(out, item, indent, depth + 1);
            }
            if !entries.is_empty() {
                line(out, depth);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::Row;
    use super::super::jinja::{list, text};
    use serde_json::Value;

    /// A number of 30 digits, which minijinja counts with, and one of 60, which it does not.
    const ROW: &str = r#"{"a": 123456789012345678901234567890, "b": [1, 123456789012345678901234567890, "123456789012345678901234567890"],
        "c": {"z": {"n": -18446744073709551616}, "y": "é<'&'>"},
        "d": [123456789012345678901234567890123456789012345678901234567890, {"k": 1.5}],
        "e": 123456789012345678901234567890123456789012345678901234567890, "f": [1, true, null, "x"]}"#;

    fn row() -> Row {
        serde_json::from_str(&compass_pyfmt::whole_numbers_kept(ROW)).unwrap()
    }

    /// The expected texts are what Jinja2 3.1 prints of `json.loads(ROW)` with lm-eval's settings.
    #[test]
    fn numbers_of_many_digits_print_as_python_prints_them() {
        let big = "123456789012345678901234567890";
        let bigger = "123456789012345678901234567890123456789012345678901234567890";
        for (source, expected) in [
            ("{{ a }} {{ a + 1 }}", format!("{big} 123456789012345678901234567891")),
            ("{{ b }}", format!("[1, {big}, '{big}']")),
            ("{{ b[1] }} {{ b[2] }} {{ b|tojson }}", format!("{big} {big} [1, {big}, \"{big}\"]")),
            ("{{ c }}", "{'z': {'n': -18446744073709551616}, 'y': \"é<'&'>\"}".to_owned()),
            (
                "{{ c|tojson }}",
                r#"{"y": "\u00e9\u003c\u0027\u0026\u0027\u003e", "z": {"n": -18446744073709551616}}"#.to_owned(),
            ),
            (
                "{{ d }} {{ d[0] }} {{ d|tojson }}",
                format!("[{bigger}, {{'k': 1.5}}] {bigger} [{bigger}, {{\"k\": 1.5}}]"),
            ),
            ("{{ e }} {{ e|tojson }} {{ e|string }} {{ e ~ '!' }}", format!("{bigger} {bigger} {bigger} {bigger}!")),
            ("{{ a|tojson }} {{ a|string }} {{ [a] }}", format!("{big} {big} [{big}]")),
            (
                "{{ f|tojson }} {{ f|tojson(indent=1) }}",
                "[1, true, null, \"x\"] [\n 1,\n true,\n null,\n \"x\"\n]".to_owned(),
            ),
            ("{{ 10 ** 20 }} {{ [10 ** 20] }}", "100000000000000000000 [100000000000000000000]".to_owned()),
        ] {
            assert_eq!(text(source, &row()), Ok(expected), "{source}");
        }
        assert_eq!(list("{{ b }}", &row()), Ok(vec!["1".into(), big.into(), big.into()]));
        assert_eq!(list("{{ d[:1] }}", &row()), Ok(vec![bigger.into()]));
    }

    #[test]
    fn a_target_that_is_a_list_keeps_their_digits() {
        use super::super::template_text::TemplateText;
        let value = |source: &str| TemplateText::Jinja(source.into()).value(&row());
        let expected: Value =
            serde_json::from_str::<Value>(&compass_pyfmt::whole_numbers_kept(ROW)).unwrap()["b"].clone();
        assert_eq!(value("{{ b }}"), Ok(expected.clone()));
        assert_eq!(value("{{ b + [] }}"), Ok(expected));
    }
}
