//! Answers to BIG-Bench Extra Hard: what follows its last mark, without the marks of LaTeX and Markdown.

use super::pattern::constant;
use compass_pyfmt::strip;
use regex::Regex;
use std::sync::LazyLock;

/// OpenCompass's `bbeh_freeform_postprocess`, in lower case.
pub fn bbeh_freeform(text: &str) -> String {
    static BOXED: LazyLock<Regex> = LazyLock::new(|| constant(r"\\boxed\{(.*?)\}"));
    static TEXT: LazyLock<Regex> = LazyLock::new(|| constant(r"\\text(?:tt)?\{(.*?)\}"));
    static BOLD: LazyLock<Regex> = LazyLock::new(|| constant(r"\*\*(.*?)\*\*"));
    let bare = [&BOXED, &TEXT, &BOLD]
        .into_iter()
        .fold(after_mark(text).to_owned(), |answer, wrapped| wrapped.replace_all(&answer, "${1}").into_owned());
    strip(first_line(&bare)).to_lowercase()
}

/// OpenCompass's `bbeh_mcq_postprocess`, in lower case.
pub fn bbeh_mcq(text: &str) -> String {
    strip(first_line(after_mark(text).trim_matches(['(', ')']))).to_lowercase()
}

/// Returns the text after the last occurrence of the first of the marks that the text holds.
fn after_mark(text: &str) -> &str {
    let marks = ["The answer is: ", "The answer is ", "The final answer is: ", "The final answer is "];
    marks.into_iter().find_map(|mark| text.rsplit_once(mark)).map_or(text, |(_, answer)| answer)
}

fn first_line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
}
