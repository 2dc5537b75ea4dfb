//! `str()` and `repr()` of JSON values as CPython prints them: prompts must be byte-identical to the peers'.

use crate::digits_beyond_64_bits;
use regex::Regex;
use serde_json::{Number, Value};
use std::fmt::Write as _;
use std::sync::LazyLock;

/// `str(value)`: text as it is, everything else as `repr`.
pub fn python_str(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => python_repr(other),
    }
}

/// `repr(value)`: `None`, `True`, `1e-05`, `['a', "b's"]`, `{'k': 1}`.
pub fn python_repr(value: &Value) -> String {
    let mut out = String::new();
    write_repr(&mut out, value);
    out
}

/// `repr(text)`: `'it'`, `"it's"`.
pub fn python_repr_text(text: &str) -> String {
    let mut out = String::new();
    write_text(&mut out, text);
    out
}

fn write_repr(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_repr(out, item);
            }
            out.push(']');
        }
        Value::Object(entries) => {
            if let Some(digits) = digits_beyond_64_bits(value) {
                return out.push_str(digits);
            }
            out.push('{');
            for (at, (key, item)) in entries.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_text(out, key);
                out.push_str(": ");
                write_repr(out, item);
            }
            out.push('}');
        }
    }
}

fn write_number(out: &mut String, number: &Number) {
    match number.as_f64() {
        Some(float) if number.is_f64() => out.push_str(&float_repr(float)),
        _ => {
            // A String never refuses what is written to it.
            let _ = write!(out, "{number}");
        }
    }
}

/// The shortest digits that read back as the same number, laid out by `float_repr_style == 'short'`: fixed notation for
/// decimal exponents from -4 to 15, else scientific with a sign and at least two digits.
fn float_repr(float: f64) -> String {
    let scientific = format!("{float:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    // Rust's plain notation has the same shortest digits and never an exponent.
    let plain = format!("{float}");
    if plain.contains('.') { plain } else { plain + ".0" }
}

fn write_text(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        // A String never refuses what is written to it.
        let _ = match c {
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            '\\' => out.write_str("\\\\"),
            c if c == quote => write!(out, "\\{c}"),
            ' '..='~' => out.write_char(c),
            c if c.is_ascii() || (!is_printable(c) && (c as u32) < 0x100) => write!(out, "\\x{:02x}", c as u32),
            c if is_printable(c) => out.write_char(c),
            c if (c as u32) < 0x1_0000 => write!(out, "\\u{:04x}", c as u32),
            c => write!(out, "\\U{:08x}", c as u32),
        };
    }
    out.push(quote);
}

/// `str.isprintable()` of one character outside ASCII: not of the Unicode categories Other and Separator.
fn is_printable(c: char) -> bool {
    static HIDDEN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{C}\p{Z}]$").ok());
    let mut buffer = [0u8; 4];
    HIDDEN.as_ref().is_none_or(|hidden| !hidden.is_match(c.encode_utf8(&mut buffer)))
}

#[cfg(test)]
mod tests {
    //! Expected texts were printed by CPython 3.11.
    use super::*;
    use serde_json::json;

    #[test]
    fn scalars() {
        for (value, expected) in [
            (json!(null), "None"),
            (json!(true), "True"),
            (json!(false), "False"),
            (json!(-7), "-7"),
            (json!(u64::MAX), "18446744073709551615"),
            (json!(1.0), "1.0"),
            (json!(-0.0), "-0.0"),
            (json!(0.1), "0.1"),
            (json!(1e15), "1000000000000000.0"),
            (json!(1e16), "1e+16"),
            (json!(123456789012345680.0), "1.2345678901234568e+17"),
            (json!(0.0001), "0.0001"),
            (json!(0.00001), "1e-05"),
            (json!(1.5e-7), "1.5e-07"),
            (json!(1e300), "1e+300"),
            (json!("as 'it' is"), "as 'it' is"),
        ] {
            assert_eq!(python_str(&value), expected);
        }
    }

    #[test]
    fn containers_and_quotes() {
        let value = json!(["a", "b's", "\"", "'\"", "\n\t\\", {"k": [1, 2.5, null]}]);
        assert_eq!(python_str(&value), r#"['a', "b's", '"', '\'"', '\n\t\\', {'k': [1, 2.5, None]}]"#);
        assert_eq!(python_repr(&json!("x")), "'x'");
        assert_eq!(python_str(&json!([])), "[]");
        assert_eq!(python_str(&json!({})), "{}");
    }

    #[test]
    fn characters_that_python_escapes() {
        let value = json!(["é中😀", "\u{7f}\u{1}", "\u{a0}\u{ad}", "\u{200b}\u{2028}\u{3000}\u{feff}", "\u{e0001}"]);
        let expected = r"['é中😀', '\x7f\x01', '\xa0\xad', '\u200b\u2028\u3000\ufeff', '\U000e0001']";
        assert_eq!(python_str(&value), expected);
    }
}
