//! NLTK's `word_tokenize`: the Penn Treebank's words, sentence by sentence.

use super::punkt::sentences;
use crate::text::{Pattern, split};
use compass_pyfmt::is_word;

/// The words and marks of a text.
pub fn word_tokenize(text: &str) -> Vec<String> {
    sentences(text).iter().flat_map(|sentence| words(sentence)).collect()
}

/// Substitutions in the order of NLTK's `NLTKWordTokenizer`.
fn words(sentence: &str) -> Vec<String> {
    let mut text = sentence.to_string();
    for (pattern, replacement) in &STARTING_QUOTES {
        text = pattern.replace_all(&text, *replacement).into_owned();
    }
    text = apart_from_quote(&text);
    for (pattern, replacement) in &PUNCTUATION {
        text = pattern.replace_all(&text, *replacement).into_owned();
    }
    text = format!(" {text} ");
    for (pattern, replacement) in &ENDING {
        text = pattern.replace_all(&text, *replacement).into_owned();
    }
    split(&text).map(String::from).collect()
}

/// A quote before a word that is not a clitic is set apart from it.
fn apart_from_quote(text: &str) -> String {
    static CLITIC: Pattern = Pattern::new(r"(?i)^(?:re|ve|ll|m|t|s|d|n)");
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        out.push(c);
        let rest = &text[at + c.len_utf8()..];
        let is_clitic = || CLITIC.find_iter(rest).any(|found| !rest[found.end()..].starts_with(is_word));
        if c == '\'' && !text[..at].ends_with(is_word) && rest.starts_with(is_word) && !is_clitic() {
            out.push(' ');
        }
    }
    out
}

type Substitution = (Pattern, &'static str);

static STARTING_QUOTES: [Substitution; 4] = [
    (Pattern::new(r"([«“‘„]|[`]+)"), " $1 "),
    (Pattern::new(r#"^""#), "``"),
    (Pattern::new(r"(``)"), " $1 "),
    (Pattern::new(r#"([ (\[{<])("|'{2})"#), "$1 `` "),
];

static PUNCTUATION: [Substitution; 12] = [
    (Pattern::new(r#"([^.])(\.)([\])}>"'»”’ ]*)[\s\x1c-\x1f]*$"#), "$1 $2 $3 "),
    (Pattern::new(r"([:,])([^\d])"), " $1 $2"),
    (Pattern::new(r"([:,])$"), " $1 "),
    (Pattern::new(r"\.{2,}"), " $0 "),
    (Pattern::new(r"[;@#$%&]"), " $0 "),
    (Pattern::new(r"[\x{2012}-\x{2015}]"), " $0 "),
    (Pattern::new(r#"([^.])(\.)([\])}>"']*)[\s\x1c-\x1f]*$"#), "$1 $2$3 "),
    (Pattern::new(r"[?!]"), " $0 "),
    (Pattern::new(r"([^'])' "), "$1 ' "),
    (Pattern::new(r"[*]"), " $0 "),
    (Pattern::new(r"[\]\[(){}<>]"), " $0 "),
    (Pattern::new(r"--"), " -- "),
];

static ENDING: [Substitution; 16] = [
    (Pattern::new(r"([»”’])"), " $1 "),
    (Pattern::new(r"''"), " '' "),
    (Pattern::new(r#"""#), " '' "),
    (Pattern::new(r"[\s\x1c-\x1f]+"), " "),
    (Pattern::new(r"([^' ])('[sS]|'[mM]|'[dD]|') "), "$1 $2 "),
    (Pattern::new(r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) "), "$1 $2 "),
    (Pattern::new(r"(?i)\b(can)(not)\b"), " $1 $2 "),
    (Pattern::new(r"(?i)\b(d)('ye)\b"), " $1 $2 "),
    (Pattern::new(r"(?i)\b(gim)(me)\b"), " $1 $2 "),
    (Pattern::new(r"(?i)\b(gon)(na)\b"), " $1 $2 "),
    (Pattern::new(r"(?i)\b(got)(ta)\b"), " $1 $2 "),
    (Pattern::new(r"(?i)\b(lem)(me)\b"), " $1 $2 "),
    (Pattern::new(r"(?i)\b(more)('n)\b"), " $1 $2 "),
    (Pattern::new(r"(?i)\b(wan)(na)([\s\x1c-\x1f])"), " $1 $2 $3"),
    (Pattern::new(r"(?i) ('t)(is)\b"), " $1 $2 "),
    (Pattern::new(r"(?i) ('t)(was)\b"), " $1 $2 "),
];
