//! Punkt's tokens: how a candidate's surroundings are cut, and what a token looks like.

use super::text_rules::{is_lower, is_upper};
use crate::text::Pattern;
use compass_pyfmt::{is_space, is_word};

/// A token with what the two passes find out about it.
pub(super) struct Token {
    pub(super) text: String,
    /// The text in lower case; numbers are all alike.
    kind: String,
    pub(super) is_break: bool,
    pub(super) is_abbreviation: bool,
}

const NUMBER: &str = "##number##";

impl Token {
    fn new(text: String) -> Self {
        static NUMERIC: Pattern = Pattern::new(r"^-?[.,]?\d[\d,.-]*\.?$");
        let lower = text.to_lowercase();
        let kind = if NUMERIC.is_match(&lower) { NUMBER.into() } else { lower };
        Self { text, kind, is_break: false, is_abbreviation: false }
    }

    /// The type without a final full stop.
    pub(super) fn kind_without_stop(&self) -> &str {
        self.kind.strip_suffix('.').filter(|kind| !kind.is_empty()).unwrap_or(&self.kind)
    }

    /// The type, without a final full stop where that ends a sentence.
    pub(super) fn kind_in_sentence(&self) -> &str {
        if self.is_break { self.kind_without_stop() } else { &self.kind }
    }

    pub(super) fn is_ellipsis(&self) -> bool {
        self.text.len() > 1 && self.text.bytes().all(|byte| byte == b'.')
    }

    pub(super) fn is_number(&self) -> bool {
        self.kind_without_stop() == NUMBER
    }

    /// One letter and a full stop.
    pub(super) fn is_initial(&self) -> bool {
        static DIGIT: Pattern = Pattern::new(r"^\d");
        let mut characters = self.text.strip_suffix('.').unwrap_or_default().chars();
        matches!((characters.next(), characters.next()), (Some(letter), None) if is_word(letter))
            && !DIGIT.is_match(&self.text)
    }

    pub(super) fn begins_upper(&self) -> bool {
        self.text.chars().next().is_some_and(|c| is_upper(c.encode_utf8(&mut [0; 4])))
    }

    pub(super) fn begins_lower(&self) -> bool {
        self.text.chars().next().is_some_and(|c| is_lower(c.encode_utf8(&mut [0; 4])))
    }
}

/// Marks that do not occur within words.
pub(super) fn is_non_word(c: char) -> bool {
    ")\";}]*:@'({[‘’“”«»?!".contains(c)
}

/// The tokens of a text, line by line.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    for line in text.split('\n') {
        let line: Vec<char> = line.chars().collect();
        let mut at = 0;
        while at < line.len() {
            if is_space(line[at]) {
                at += 1;
                continue;
            }
            let length = punctuation_run(&line, at).unwrap_or_else(|| word(&line, at));
            out.push(Token::new(line[at..at + length].iter().collect()));
            at += length;
        }
    }
    out
}

/// The length of a run of hyphens or full stops, or of full stops with single spaces between them.
fn punctuation_run(line: &[char], at: usize) -> Option<usize> {
    let run = |mark: char| line[at..].iter().take_while(|c| **c == mark).count();
    if let Some(length) = ['-', '.'].into_iter().map(run).find(|length| *length >= 2) {
        return Some(length);
    }
    let pairs = line[at..].chunks(2).take_while(|pair| matches!(pair, ['.', space] if is_space(*space))).count();
    let closed = if line.get(at + 2 * pairs) == Some(&'.') { pairs } else { pairs.saturating_sub(1) };
    (closed >= 2).then_some(2 * closed + 1)
}

/// The length of the word that begins here; a mark that cannot begin one stands alone.
fn word(line: &[char], at: usize) -> usize {
    if "(\"`{[:;&#*@)}]-,".contains(line[at]) {
        return 1;
    }
    let ends = |place: usize| match line.get(place) {
        None => true,
        Some(&c) => is_space(c) || is_non_word(c) || punctuation_run(line, place).is_some(),
    };
    (at + 1..).find(|&place| ends(place) || (line[place] == ',' && ends(place + 1))).map_or(1, |place| place - at)
}
