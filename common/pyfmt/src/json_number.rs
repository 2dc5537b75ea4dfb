//! Numbers of Python's `json` that the JSON here does not hold: whole numbers beyond 64 bits, and words for NaN and infinities.

use crate::whole_number::beyond_64_bits;
use std::borrow::Cow;
use std::ops::Range;

/// The JSON `text` with placeholders ([`crate::digits_beyond_64_bits`]) for whole numbers beyond 64 bits; a float would not be
/// that number.
pub fn whole_numbers_kept(text: &str) -> Cow<'_, str> {
    replaced(text, |word| is_beyond_64_bits(word).then(|| beyond_64_bits(word.to_owned()).to_string()))
}

/// The text with other words in place of some.
fn replaced(text: &str, with: impl Fn(&str) -> Option<String>) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for (place, other) in words(text).filter_map(|place| Some((place.clone(), with(&text[place])?))) {
        out.push_str(&text[done..place.start]);
        out.push_str(&other);
        done = place.end;
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// The first of `NaN`, `Infinity` and `-Infinity` in the JSON `text`, and the byte it begins at: Python's `json` writes and reads
/// them, and JSON has none.
pub fn python_json_word(text: &str) -> Option<(usize, &str)> {
    let found = words(text).find(|word| ["NaN", "Infinity", "-Infinity"].contains(&&text[word.clone()]))?;
    Some((found.start, &text[found]))
}

/// The JSON `text` with Python's words for floats as JSON has them: `Infinity` as the greatest float, `NaN` as null.
pub fn without_python_words(text: &str) -> Cow<'_, str> {
    replaced(text, |word| match word {
        "NaN" => Some("null".into()),
        "Infinity" => Some(GREATEST.into()),
        "-Infinity" => Some(format!("-{GREATEST}")),
        _ => None,
    })
}

/// `f64::MAX`.
const GREATEST: &str = "1.7976931348623157e308";

/// Returns whether it is a whole number that fits into 64 bits neither with a sign nor without one.
pub(crate) fn is_beyond_64_bits(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    digits.len() > 18 && is_whole && word.parse::<i64>().is_err() && word.parse::<u64>().is_err()
}

/// Returns the words outside of quotation marks, between brackets, commas, colons and white space.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let start = at;
            at += 1;
            match bytes[start] {
                b'"' => {
                    while at < bytes.len() && bytes[at] != b'"' {
                        at += if bytes[at] == b'\\' { 2 } else { 1 };
                    }
                    at += 1;
                }
                byte if is_of_word(byte) => {
                    at += bytes[at..].iter().take_while(|byte| is_of_word(**byte)).count();
                    return Some(start..at);
                }
                _ => {}
            }
        }
        None
    })
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_keep_their_digits() {
        for (text, expected) in [
            (r#"{"a": 100000000000000000000000}"#, "{'a': 100000000000000000000000}"),
            ("[18446744073709551616,-9223372036854775809]", "[18446744073709551616, -9223372036854775809]"),
            ("99999999999999999999", "99999999999999999999"),
        ] {
            let value: serde_json::Value = serde_json::from_str(&whole_numbers_kept(text)).unwrap();
            assert_eq!(crate::python_repr(&value), expected);
        }
        for same in [
            "[18446744073709551615, -9223372036854775808, 0, 12]",
            "[1e30, 100000000000000000000.0, 123456789012345678901234567890E2]",
            r#"{"100000000000000000000": "100000000000000000000 and \" 100000000000000000000"}"#,
            "[\"100000000000000000000",
            "[\"\\",
            "é\u{3000}",
        ] {
            assert_eq!(whole_numbers_kept(same), same);
        }
    }

    #[test]
    fn words_of_python_are_found_outside_of_texts() {
        assert_eq!(python_json_word(r#"{"NaN": "Infinity", "b": [1, -Infinity]}"#), Some((29, "-Infinity")));
        assert_eq!(python_json_word("[NaN]"), Some((1, "NaN")));
        assert_eq!(python_json_word(r#"["NaN", Nan, nan]"#), None);
    }
}
