//! Letters, digits, white space and numbers as CPython sees them, where Rust's own notions differ.
//!
//! `\w` of Python's `re` is `str.isalnum` or `_`: no combining marks, which the `regex` crate counts in. `\s` is
//! `str.isspace`, which holds U+001C to U+001F. `\d` is the same on both sides.

use regex::Regex;
use std::sync::LazyLock;

/// Returns whether Python's `re` matches `\w`: the categories letter and number, and the underscore.
pub fn is_word(c: char) -> bool {
    #[expect(clippy::expect_used, reason = "a constant pattern that every test compiles")]
    static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[\p{L}\p{N}_]").expect("a valid pattern"));
    match c {
        c if c.is_ascii() => c.is_ascii_alphanumeric() || c == '_',
        c => WORD.is_match(c.encode_utf8(&mut [0; 4])),
    }
}

/// Returns whether Python's `re` matches `\s`, and `str.strip` strips.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// `str.strip()`.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `str(None)`: replaces an answer where the original returns nothing.
pub const NONE: &str = "None";

/// Characters that `str.isdigit` counts beyond the decimal digits: superscripts, digits in circles and the like.
const DIGITS: [(char, char); 20] = [
    ('\u{b2}', '\u{b3}'),
    ('\u{b9}', '\u{b9}'),
    ('\u{1369}', '\u{1371}'),
    ('\u{19da}', '\u{19da}'),
    ('\u{2070}', '\u{2070}'),
    ('\u{2074}', '\u{2079}'),
    ('\u{2080}', '\u{2089}'),
    ('\u{2460}', '\u{2468}'),
    ('\u{2474}', '\u{247c}'),
    ('\u{2488}', '\u{2490}'),
    ('\u{24ea}', '\u{24ea}'),
    ('\u{24f5}', '\u{24fd}'),
    ('\u{24ff}', '\u{24ff}'),
    ('\u{2776}', '\u{277e}'),
    ('\u{2780}', '\u{2788}'),
    ('\u{278a}', '\u{2792}'),
    ('\u{10a40}', '\u{10a43}'),
    ('\u{10e60}', '\u{10e68}'),
    ('\u{11052}', '\u{1105a}'),
    ('\u{1f100}', '\u{1f10a}'),
];

/// Returns whether `str.isdigit` holds for the character.
pub fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || is_decimal(c) || DIGITS.iter().any(|&(first, last)| (first..=last).contains(&c))
}

/// `float(text)`; `None` where Python raises. Infinities and NaN are numbers.
pub fn float(text: &str) -> Option<f64> {
    plain(text)?.parse().ok()
}

/// `float(int(text))`; `None` where Python raises, also for integers that no finite float is near.
pub fn int(text: &str) -> Option<f64> {
    let text = plain(text)?;
    let digits = text.strip_prefix(['+', '-']).unwrap_or(&text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The text as CPython's number parsers see it: stripped, digits of all scripts as ASCII, single underscores between
/// digits dropped.
fn plain(text: &str) -> Option<String> {
    let text: Vec<char> = text.trim_matches(is_space).chars().map(ascii_digit).collect();
    let mut out = String::with_capacity(text.len());
    for (at, &c) in text.iter().enumerate() {
        if c == '_' {
            let is_digit = |c: Option<&char>| c.is_some_and(char::is_ascii_digit);
            if at == 0 || !is_digit(text.get(at - 1)) || !is_digit(text.get(at + 1)) {
                return None;
            }
        } else {
            out.push(c);
        }
    }
    Some(out)
}

/// A decimal digit of any script as ASCII, everything else as it is.
///
/// Unicode assigns decimal digits in unbroken runs from zero to nine, so the place in its run gives the value.
fn ascii_digit(c: char) -> char {
    if c.is_ascii() || !is_decimal(c) {
        return c;
    }
    let before = (1..).map_while(|back| char::from_u32(c as u32 - back).filter(|&c| is_decimal(c))).count();
    char::from(b'0' + (before % 10) as u8)
}

fn is_decimal(c: char) -> bool {
    #[expect(clippy::expect_used, reason = "a constant pattern that every test compiles")]
    static DIGIT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d").expect("a valid pattern"));
    DIGIT.is_match(c.encode_utf8(&mut [0; 4]))
}

#[cfg(test)]
mod tests {
    //! Expected values were printed by CPython 3.11.
    use super::*;

    #[test]
    fn characters() {
        for (c, word, space) in [
            ('é', true, false),
            ('中', true, false),
            ('٣', true, false),
            ('½', true, false),
            ('ⅷ', true, false),
            ('_', true, false),
            ('\u{0301}', false, false), // a combining accent
            ('\u{093e}', false, false), // a Devanagari vowel sign
            ('\u{200d}', false, false), // the zero width joiner
            ('‿', false, false),        // connector punctuation
            ('\u{1c}', false, true),
            ('\u{85}', false, true),
            ('\u{a0}', false, true),
            ('\u{3000}', false, true),
            ('\u{200b}', false, false),
        ] {
            assert_eq!((is_word(c), is_space(c)), (word, space), "{c:?}");
        }
    }

    #[test]
    fn numbers() {
        assert_eq!(float(" \u{1f}-1_0.5e1\u{3000}"), Some(-105.0));
        assert_eq!(float("٣.١٥"), Some(3.15));
        assert_eq!(float("𝟙𝟚"), Some(12.0)); // mathematical digits: five alphabets in one run
        assert_eq!(float(".5"), Some(0.5));
        assert_eq!(float("5."), Some(5.0));
        assert_eq!(float("-Infinity"), Some(f64::NEG_INFINITY));
        for text in ["", ".", "1__0", "_1", "1_", "1_.5", "0x10", "NULL", "1,000", "e5"] {
            assert_eq!(float(text), None, "{text:?}");
        }
        assert_eq!(int(" +1_000\n"), Some(1000.0));
        assert_eq!(int("-007"), Some(-7.0));
        assert_eq!(int("١٨"), Some(18.0));
        for text in ["", "+", "1.0", "1e3", "inf", "--1", "$18", &"9".repeat(400)] {
            assert_eq!(int(text), None, "{text:?}");
        }
    }
}
