//! Chinese text as words with spaces between them, for metrics that count words.

use super::pattern::constant;
use compass_pyfmt::strip;
use jieba_rs::Jieba;
use regex::Regex;
use std::sync::LazyLock;

/// The words of `text` as `jieba.cut` finds them with its defaults (its dictionary, its model for unknown words), in order
/// and without loss: joined they are the text.
///
/// The crate finds the words of a block of Chinese and ASCII characters. What is such a block, and where a run of ASCII
/// characters that is no word of the dictionary is cut, is decided here as the original decides it.
pub fn words(text: &str) -> Vec<&str> {
    static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);
    static BLOCK: LazyLock<Regex> = LazyLock::new(|| constant(r"[\u4E00-\u9FD5a-zA-Z0-9+#&\._%\-]+"));
    let (mut words, mut at) = (Vec::new(), 0);
    for block in BLOCK.find_iter(text) {
        single_characters(&text[at..block.start()], &mut words);
        for token in JIEBA.cut(block.as_str(), true) {
            match token.word.is_ascii() && token.word.len() > 1 && !JIEBA.has_word(token.word) {
                true => pieces(token.word, &mut words),
                false => words.push(token.word),
            }
        }
        at = block.end();
    }
    single_characters(&text[at..], &mut words);
    words
}

/// Outside blocks every character is a word, but for a line end of two.
fn single_characters<'t>(text: &'t str, words: &mut Vec<&'t str>) {
    static CHARACTER: LazyLock<Regex> = LazyLock::new(|| constant(r"(?s)\r\n|."));
    words.extend(CHARACTER.find_iter(text).map(|character| character.as_str()));
}

/// Numbers and Latin words, and what stands between them.
fn pieces<'t>(token: &'t str, words: &mut Vec<&'t str>) {
    static WORD: LazyLock<Regex> = LazyLock::new(|| constant(r"[a-zA-Z0-9]+(?:\.\d+)?%?"));
    let mut at = 0;
    for word in WORD.find_iter(token) {
        words.extend([&token[at..word.start()], word.as_str()].into_iter().filter(|piece| !piece.is_empty()));
        at = word.end();
    }
    words.extend(Some(&token[at..]).filter(|piece| !piece.is_empty()));
}

/// OpenCompass's `general_cn_postprocess`: the whole text with a space between the words. (The original cleans the text as
/// `general_postprocess` does and then throws the cleaned text away.)
pub fn general_cn(text: &str) -> String {
    words(text).join(" ")
}

/// OpenCompass's `flores_postprocess_chinese`: the words of the first line, runs of white space as one space.
pub fn flores_chinese(text: &str) -> String {
    static SPACES: LazyLock<Regex> = LazyLock::new(|| constant(r"\s+"));
    let line = strip(text).split('\n').next().unwrap_or_default();
    words(strip(&SPACES.replace_all(line, " "))).join(" ")
}
