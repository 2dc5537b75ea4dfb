//! Chinese text as words with spaces between them, for metrics that count words.

use super::pattern::constant;
use super::words::words;
use compass_pyfmt::strip;
use regex::Regex;
use std::sync::LazyLock;

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
