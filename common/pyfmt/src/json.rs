//! Texts and floats as Python's `json.dumps` writes them.

use crate::float_text;
use std::fmt::Write;

/// Appends `text` in quotes; with `is_ascii` (`ensure_ascii`) whatever is not printable ASCII is escaped.
pub fn json_text(out: &mut String, text: &str, is_ascii: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if u32::from(c) < 0x20 || (is_ascii && !(' '..='~').contains(&c)) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A float: JSON has no word for some, and Python writes them all the same.
pub fn json_float(value: f64) -> String {
    match value {
        value if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        value => float_text(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_json_dumps_writes_it() {
        let written = |text: &str, is_ascii| {
            let mut out = String::new();
            json_text(&mut out, text, is_ascii);
            out
        };
        // json.dumps('"\\\b\f\x01\x7fé😀'), and with ensure_ascii=False
        let text = "\"\\\u{8}\u{c}\u{1}\u{7f}é😀";
        assert_eq!(written(text, true), r#""\"\\\b\f\u0001\u007f\u00e9\ud83d\ude00""#);
        assert_eq!(written(text, false), "\"\\\"\\\\\\b\\f\\u0001\u{7f}é😀\"");
        let floats = [1.0, -0.5, 1e300, f64::NAN, f64::NEG_INFINITY].map(json_float);
        assert_eq!(floats, ["1.0", "-0.5", "1e+300", "NaN", "-Infinity"]);
    }
}
