//! Functions of Python's `str`, and `string.punctuation`, to the character.

use super::pattern::Pattern;
use compass_pyfmt::{is_space, is_word};

// `re.sub(r'\b(a|an|the)\b', ...)`, which every normaliser of English answers starts from.

/// `text` with each word a, an, the (lower case only) replaced; a word is an unbroken run of Python's `\w`.
pub(crate) fn replace_articles(text: &str, replacement: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let word_end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end);
        out.push_str(if matches!(word, "a" | "an" | "the") { replacement } else { word });
        let gap_end = after.find(is_word).unwrap_or(after.len());
        let (gap, next) = after.split_at(gap_end);
        out.push_str(gap);
        rest = next;
    }
    out
}

// `str.casefold()`.

/// `text.casefold()`: the full case folding of Unicode.
///
/// Lower case of upper case, character by character, with the characters where folding differs from that. The list is
/// complete for Unicode 14, which a golden over all code points checks.
pub(crate) fn casefold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'ı' => out.push(c),
            'ẞ' => out.push_str("ss"),
            // Cherokee folds to upper case, for stability across versions of Unicode.
            '\u{13a0}'..='\u{13f5}' => out.push(c),
            '\u{13f8}'..='\u{13fd}' | '\u{ab70}'..='\u{abbf}' => out.extend(c.to_uppercase()),
            c => out.extend(c.to_uppercase().flat_map(char::to_lowercase)),
        }
    }
    out
}

// `str.isdigit()` of one character.

/// Returns whether Python counts `c` as a digit: the decimal digits of all scripts, and digits in superscripts and circles.
pub(crate) fn is_digit(c: char) -> bool {
    static DECIMAL: Pattern = Pattern::new(r"\d");
    c.is_ascii_digit()
        || (!c.is_ascii()
            && (SPECIAL.iter().any(|&(from, to)| (from..=to).contains(&c))
                || DECIMAL.is_match(c.encode_utf8(&mut [0; 4]))))
}

#[rustfmt::skip]
const SPECIAL: &[(char, char)] = &[
    ('\u{b2}', '\u{b3}'), ('\u{b9}', '\u{b9}'), ('\u{1369}', '\u{1371}'), ('\u{19da}', '\u{19da}'),
    ('\u{2070}', '\u{2070}'), ('\u{2074}', '\u{2079}'), ('\u{2080}', '\u{2089}'), ('\u{2460}', '\u{2468}'),
    ('\u{2474}', '\u{247c}'), ('\u{2488}', '\u{2490}'), ('\u{24ea}', '\u{24ea}'), ('\u{24f5}', '\u{24fd}'),
    ('\u{24ff}', '\u{24ff}'), ('\u{2776}', '\u{277e}'), ('\u{2780}', '\u{2788}'), ('\u{278a}', '\u{2792}'),
    ('\u{10a40}', '\u{10a43}'), ('\u{10e60}', '\u{10e68}'), ('\u{11052}', '\u{1105a}'), ('\u{1f100}', '\u{1f10a}'),
];

// `str.split()`, `str.strip()` and `string.punctuation`.

/// `text.split()`: the runs without white space.
pub(crate) fn split(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// `text.strip()`.
pub(crate) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `' '.join(text.split())`.
pub(crate) fn collapse(text: &str) -> String {
    split(text).collect::<Vec<_>>().join(" ")
}

/// Returns whether `c` is in Python's `string.punctuation`, which is ASCII only.
pub(crate) fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
}
