//! Lists and dictionaries that a file holds as text: JSON, or what Python's `repr` prints (`ast.literal_eval` reads it
//! back). TriviaQA's and others' answers come so.

use crate::json_number::{is_beyond_64_bits, whole_numbers_kept};
use crate::string_literal;
use crate::whole_number::beyond_64_bits;
use serde_json::{Map, Number, Value};

/// Parses JSON, or else a Python literal. Tuples and sets are lists; keys of a dictionary become texts.
///
/// # Errors
/// In words, with the place as a count of characters.
pub fn parse(text: &str) -> Result<Value, String> {
    if let Ok(value) = serde_json::from_str(&whole_numbers_kept(text)) {
        return Ok(value);
    }
    let mut parser = Parser { rest: text.trim(), whole: text.trim().chars().count(), depth: 0 };
    let value = parser.value().and_then(|value| match parser.rest.trim_start() {
        "" => Ok(value),
        _ => Err("something follows the value".into()),
    });
    value.map_err(|why| {
        let at = parser.whole - parser.rest.chars().count();
        format!("neither JSON nor a Python literal: {why} at character {}", at + 1)
    })
}

/// Deeper nesting than any data has; guards the stack.
const DEEPEST: usize = 100;

struct Parser<'t> {
    rest: &'t str,
    /// Characters of the whole text.
    whole: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn value(&mut self) -> Result<Value, String> {
        self.skip_space();
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("nested too deeply".into());
        }
        let value = match self.rest.chars().next() {
            None => Err("the text ends".into()),
            Some('[') => self.items(']').map(|(items, _)| Value::Array(items)),
            Some('(') => self.items(')').map(|(mut items, had_comma)| match items.len() {
                // Brackets around one value without a comma only group it.
                1 if !had_comma => items.remove(0),
                _ => Value::Array(items),
            }),
            Some('{') => self.braces(),
            Some('\'' | '"') => self.text().map(Value::String),
            Some('u' | 'b' | 'r') if self.rest[1..].starts_with(['\'', '"']) => {
                Err("strings with a prefix are not read".into())
            }
            Some(_) => self.word(),
        };
        self.depth -= 1;
        value
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, expected: char) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// The items up to `close`, and whether there was a comma.
    fn items(&mut self, close: char) -> Result<(Vec<Value>, bool), String> {
        self.rest = &self.rest[1..];
        let (mut items, mut had_comma) = (Vec::new(), false);
        while !self.take(close) {
            if !items.is_empty() && !had_comma {
                return Err(format!("`,` or `{close}` is missing"));
            }
            items.push(self.value()?);
            let comma = self.take(',');
            had_comma |= comma;
            if !comma {
                return if self.take(close) {
                    Ok((items, had_comma))
                } else {
                    Err(format!("`,` or `{close}` is missing"))
                };
            }
        }
        Ok((items, had_comma))
    }

    /// A dictionary, or a set.
    fn braces(&mut self) -> Result<Value, String> {
        let before = self.rest;
        self.rest = &self.rest[1..];
        let mut entries = Map::new();
        while !self.take('}') {
            let key = self.value()?;
            if !self.take(':') {
                if entries.is_empty() {
                    self.rest = before;
                    return self.items('}').map(|(items, _)| Value::Array(items));
                }
                return Err("`:` is missing".into());
            }
            let value = self.value()?;
            entries.insert(super::text::python_str(&key), value);
            if !self.take(',') {
                return if self.take('}') { Ok(Value::Object(entries)) } else { Err("`,` or `}` is missing".into()) };
            }
        }
        Ok(Value::Object(entries))
    }

    /// A string; neighbours are joined, as Python does.
    fn text(&mut self) -> Result<String, String> {
        let mut text = String::new();
        while self.rest.starts_with(['\'', '"']) {
            match string_literal::plain(self.rest) {
                Ok((piece, rest)) => {
                    text.push_str(&piece);
                    self.rest = rest;
                }
                Err(why) => {
                    self.rest = "";
                    return Err(why.to_owned());
                }
            }
            self.skip_space();
        }
        Ok(text)
    }

    /// `None`, `True`, `False`, or a number. A whole number beyond 64 bits keeps its digits.
    fn word(&mut self) -> Result<Value, String> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.' | '_'));
        let word: &'t str = &self.rest[..end.unwrap_or(self.rest.len())];
        let number = || {
            let plain = word.replace('_', "");
            if is_beyond_64_bits(&plain) {
                return Some(beyond_64_bits(plain.trim_start_matches('+').to_owned()));
            }
            let float = || plain.parse().ok().and_then(Number::from_f64);
            let whole = plain.parse::<i64>().map(Number::from).or_else(|_| plain.parse::<u64>().map(Number::from));
            whole.ok().or_else(float).map(Value::Number)
        };
        let value = match word {
            "None" | "null" => Some(Value::Null),
            "True" | "true" => Some(Value::Bool(true)),
            "False" | "false" => Some(Value::Bool(false)),
            word if word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) => number(),
            _ => None,
        };
        let value = value.ok_or_else(|| "a value is missing".to_owned())?;
        self.rest = &self.rest[word.len()..];
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whole_number;
    use serde_json::json;

    #[test]
    fn what_python_prints_is_read_back() {
        // Each text is `repr` of the value beside it, printed by CPython, unless it is JSON.
        for (text, value) in [
            ("[\"a\", 'b\\'s', \"c's\"]", json!(["a", "b's", "c's"])),
            ("['Sunset Blvd', 'West Sunset']", json!(["Sunset Blvd", "West Sunset"])),
            (
                "{'text': ['é', 'x\\ny'], 'label': [0, 1], 'none': None}",
                json!({"text": ["é", "x\ny"], "label": [0, 1], "none": null}),
            ),
            ("(1, -2.5, 1e-05, True)", json!([1, -2.5, 1e-05, true])),
            ("(1,)", json!([1])),
            (
                "[18446744073709551615, -100000000000000000000]",
                json!([u64::MAX, whole_number(-100_000_000_000_000_000_000)]),
            ),
            ("(100000000000000000000, 1e30)", json!([whole_number(100_000_000_000_000_000_000), 1e30])),
            ("('x')", json!("x")),
            ("()", json!([])),
            ("{}", json!({})),
            ("{1, 2}", json!([1, 2])),
            ("{1: 'a'}", json!({"1": "a"})),
            ("'\\u4e2d\\x41\\\\d'", json!("中A\\d")),
            ("'''it's\nlong'''", json!("it's\nlong")),
            ("['a' 'b', ]", json!(["ab"])),
            ("\"\\d\"", json!("\\d")),
            ("[1, {\"a\": null}]", json!([1, {"a": null}])),
        ] {
            assert_eq!(parse(text).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn what_is_none_is_named() {
        for (text, why) in [
            ("[1, 2", "`,` or `]` is missing at character 6"),
            ("['a", "a string does not end at character 4"),
            ("[1 2]", "`,` or `]` is missing at character 4"),
            ("os.system('x')", "a value is missing at character 1"),
            ("{'a': 1} x", "something follows the value"),
            ("", "the text ends"),
            ("'\\ud800'", "an escape names no character"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(parse(&"[".repeat(100_000)).unwrap_err().contains("nested too deeply"));
    }
}
