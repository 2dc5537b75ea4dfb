//! Numbers of Python's `json` that the JSON here does not hold: whole numbers beyond 64 bits, and words for floats that are none.

use std::borrow::Cow;
use std::ops::Range;

/// The JSON `text` with whole numbers beyond 64 bits as texts of their digits, which is what Python prints of them; a float would
/// not be that number.
pub fn whole_numbers_as_texts(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for word in words(text).filter(|word| is_beyond(&text[word.clone()])) {
        out.push_str(&text[done..word.start]);
        out.push('"');
        out.push_str(&text[word.clone()]);
        out.push('"');
        done = word.end;
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

fn is_beyond(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    digits.len() > 18 && is_whole && word.parse::<i64>().is_err() && word.parse::<u64>().is_err()
}

/// What stands outside of quotation marks, between brackets, commas, colons and white space.
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
            (r#"{"a": 100000000000000000000000}"#, r#"{"a": "100000000000000000000000"}"#),
            ("[18446744073709551616,-9223372036854775809]", r#"["18446744073709551616","-9223372036854775809"]"#),
            ("99999999999999999999", r#""99999999999999999999""#),
        ] {
            assert_eq!(whole_numbers_as_texts(text), expected);
        }
        for same in [
            "[18446744073709551615, -9223372036854775808, 0, 12]",
            "[1e30, 100000000000000000000.0, 123456789012345678901234567890E2]",
            r#"{"100000000000000000000": "100000000000000000000 and \" 100000000000000000000"}"#,
            "[\"100000000000000000000",
            "[\"\\",
            "é\u{3000}",
        ] {
            assert_eq!(whole_numbers_as_texts(same), same);
        }
    }

    #[test]
    fn words_of_python_are_found_outside_of_texts() {
        assert_eq!(python_json_word(r#"{"NaN": "Infinity", "b": [1, -Infinity]}"#), Some((29, "-Infinity")));
        assert_eq!(python_json_word("[NaN]"), Some((1, "NaN")));
        assert_eq!(python_json_word(r#"["NaN", Nan, nan]"#), None);
    }
}
