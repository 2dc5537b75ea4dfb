//! Chinese words, as jieba 0.42 cuts them.

use super::pattern::constant;
use jieba_rs::Jieba;
use regex::Regex;
use std::sync::LazyLock;

/// `jieba.cut(text, cut_all=False)`: the words in order, white space and punctuation among them; joined they are `text`.
///
/// Dictionary and hidden Markov model are jieba-rs's. The original's two character classes differ from that crate's: rare
/// Han characters are words alone, and words of letters and digits break at hyphens, underscores and most full stops.
pub fn words(text: &str) -> Vec<&str> {
    static BLOCK: LazyLock<Regex> = LazyLock::new(|| constant(r"[\u4E00-\u9FD5a-zA-Z0-9+#&\._%\-]+"));
    let mut out = Vec::new();
    let mut done = 0;
    for block in BLOCK.find_iter(text) {
        characters(&text[done..block.start()], &mut out);
        cut(block.as_str(), &mut out);
        done = block.end();
    }
    characters(&text[done..], &mut out);
    out
}

/// Every character by itself, but for a carriage return with its line feed.
fn characters<'a>(mut text: &'a str, out: &mut Vec<&'a str>) {
    while let Some(first) = text.chars().next() {
        let (character, rest) = text.split_at(if text.starts_with("\r\n") { 2 } else { first.len_utf8() });
        out.push(character);
        text = rest;
    }
}

fn cut<'a>(block: &'a str, out: &mut Vec<&'a str>) {
    static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);
    let mut at = 0;
    let mut plain_from = 0;
    for token in JIEBA.cut(block, true) {
        let is_plain = token.word.is_ascii() && (token.word.len() == 1 || !JIEBA.has_word(token.word));
        if !is_plain {
            letters_and_digits(&block[plain_from..at], out);
            out.push(token.word);
            plain_from = at + token.word.len();
        }
        at += token.word.len();
    }
    letters_and_digits(&block[plain_from..], out);
}

/// Splits into words and numbers, and the text between them.
fn letters_and_digits<'a>(text: &'a str, out: &mut Vec<&'a str>) {
    static WORD: LazyLock<Regex> = LazyLock::new(|| constant(r"[a-zA-Z0-9]+(?:\.\d+)?%?"));
    let mut done = 0;
    for word in WORD.find_iter(text) {
        out.extend([&text[done..word.start()], word.as_str()].into_iter().filter(|part| !part.is_empty()));
        done = word.end();
    }
    out.extend(Some(&text[done..]).filter(|rest| !rest.is_empty()));
}
