//! Words as NLTK's `word_tokenize` finds them: sentences first, each then by the rules of `NLTKWordTokenizer`.
//!
//! Within a sentence the rules are NLTK's own. Where a sentence ends is not: NLTK asks Punkt, a model trained on English
//! newspapers; here a stop ends a sentence before white space unless the word is an initial or one of a few
//! abbreviations. A difference shows only in whether the full stop of a word inside the text stays with it.

use regex::Regex;
use std::sync::LazyLock;

/// Abbreviations after which a sentence goes on, lower case, without the last stop.
const ABBREVIATIONS: [&str; 22] = [
    "mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "etc", "e.g", "i.e", "u.s", "u.k", "a.m", "p.m", "inc",
    "ltd", "co", "corp", "jan", "feb",
];
/// Endings that may follow an apostrophe that does not open a word.
const CLITICS: [&str; 8] = ["re", "ve", "ll", "m", "t", "s", "d", "n"];

/// A pattern and what replaces it.
type Rule = (&'static str, &'static str);

const STARTING_QUOTES: &[Rule] =
    &[("([«“‘„]|`+)", " $1 "), ("^\"", "``"), ("(``)", " $1 "), (r#"([ (\[{<])("|'{2})"#, "$1 `` ")];
const PUNCTUATION: &[Rule] = &[
    (r#"([^.])(\.)([\])}>"'»”’ ]*)\s*$"#, "$1 $2 $3 "),
    (r"([:,])([^\d])", " $1 $2"),
    ("([:,])$", " $1 "),
    (r"\.{2,}", " $0 "),
    ("[;@#$%&]", " $0 "),
    (r"[\u{2012}-\u{2015}]", " $0 "),
    (r#"([^.])(\.)([\])}>"']*)\s*$"#, "$1 $2$3 "),
    ("[?!]", " $0 "),
    ("([^'])' ", "$1 ' "),
    (r"[*]", " $0 "),
    (r"[\]\[(){}<>]", " $0 "),
    ("--", " -- "),
];
/// On the text between two spaces.
const ENDINGS: &[Rule] = &[
    ("[»”’]", " $0 "),
    ("''", " '' "),
    ("\"", " '' "),
    (r"\s+", " "),
    ("([^' ])('[sS]|'[mM]|'[dD]|') ", "$1 $2 "),
    ("([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", "$1 $2 "),
    (r"(?i)\b(can)(not)\b", " $1 $2 "),
    (r"(?i)\b(d)('ye)\b", " $1 $2 "),
    (r"(?i)\b(gim)(me)\b", " $1 $2 "),
    (r"(?i)\b(gon)(na)\b", " $1 $2 "),
    (r"(?i)\b(got)(ta)\b", " $1 $2 "),
    (r"(?i)\b(lem)(me)\b", " $1 $2 "),
    (r"(?i)\b(more)('n)\b", " $1 $2 "),
    (r"(?i)\b(wan)(na)(\s)", " $1 $2 $3"),
    (r"(?i) ('t)(is)\b", " $1 $2 "),
    (r"(?i) ('t)(was)\b", " $1 $2 "),
];

static RULES: LazyLock<[Vec<(Regex, &'static str)>; 3]> =
    LazyLock::new(|| [compiled(STARTING_QUOTES), compiled(PUNCTUATION), compiled(ENDINGS)]);
static SENTENCE_END: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"[.?!]+[\])}>"'»”’]*\s+"#).ok());

/// All of them compile: a test counts.
fn compiled(rules: &[Rule]) -> Vec<(Regex, &'static str)> {
    rules.iter().filter_map(|(pattern, with)| Some((Regex::new(pattern).ok()?, *with))).collect()
}

/// The words of a text in order.
pub(super) fn word_tokenize(text: &str) -> Vec<String> {
    sentences(text).into_iter().flat_map(words).collect()
}

fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for found in SENTENCE_END.iter().flat_map(|end| end.find_iter(text)) {
        let before = text.get(start..found.start()).unwrap_or_default();
        let stop = found.as_str().trim_end();
        let word = before.split_whitespace().next_back().unwrap_or_default();
        let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
        let initial = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
        let goes_on = initial || ABBREVIATIONS.contains(&word.to_lowercase().as_str());
        if (stop == "." && goes_on) || stop.starts_with("..") {
            continue;
        }
        sentences.extend(text.get(start..found.start() + stop.len()));
        start = found.end();
    }
    sentences.extend(text.get(start..));
    sentences
}

/// The words of a sentence.
fn words(sentence: &str) -> Vec<String> {
    let [starting, punctuation, endings] = &*RULES;
    let text = replaced(sentence.to_owned(), starting);
    let text = replaced(part_opening_quotes(&text), punctuation);
    let text = replaced(format!(" {text} "), endings);
    text.split_whitespace().map(str::to_owned).collect()
}

fn replaced(text: String, rules: &[(Regex, &'static str)]) -> String {
    rules.iter().fold(text, |text, (pattern, with)| pattern.replace_all(&text, *with).into_owned())
}

/// A space after each apostrophe that opens a word and is not a clitic's: `(?i)(?<!\w)'(?!(?:re|ve|...)\b)(?=\w)`.
fn part_opening_quotes(text: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut parted = String::with_capacity(text.len());
    let mut before = None;
    for (at, c) in text.char_indices() {
        parted.push(c);
        let after = &text[at + c.len_utf8()..];
        if c == '\'' && !before.is_some_and(is_word) && after.starts_with(is_word) {
            let word: String = after.chars().take_while(|&c| is_word(c)).collect();
            if !CLITICS.contains(&word.to_lowercase().as_str()) {
                parted.push(' ');
            }
        }
        before = Some(c);
    }
    parted
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn every_rule_compiles() {
        assert_eq!(
            RULES.iter().map(Vec::len).sum::<usize>(),
            STARTING_QUOTES.len() + PUNCTUATION.len() + ENDINGS.len()
        );
        assert!(SENTENCE_END.is_some());
    }

    /// `tests/goldens/retrievers.py`: `nltk.word_tokenize(text, preserve_line=True)`, the tokenizer without Punkt.
    #[test]
    fn words_are_nltks() {
        let goldens: Value = serde_json::from_str(include_str!("../../tests/goldens/retrievers.json")).unwrap();
        let sentences = goldens["words"].as_array().unwrap();
        assert_eq!(sentences.len(), 20);
        for sentence in sentences {
            let text = sentence["text"].as_str().unwrap();
            let expected: Vec<&str> =
                sentence["words"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn stops_inside_a_text_end_sentences() {
        let text = "Mr. Jones met J. Smith in York. He left (early.) Why? No... reason";
        assert_eq!(sentences(text), ["Mr. Jones met J. Smith in York.", "He left (early.)", "Why?", "No... reason"]);
        assert_eq!(word_tokenize("In York. It rained."), ["In", "York", ".", "It", "rained", "."]);
        assert!(word_tokenize(" \n").is_empty());
    }
}
