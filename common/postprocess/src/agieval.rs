//! AGIEval's parser of mathematical answers (cloze subsets).

use super::boxed::last_boxed;
use super::pattern::{Undecided, constant};
use regex::Regex;
use std::sync::LazyLock;

/// `parse_math_answer` of AGIEval for zero-shot answers, which OpenCompass's `AGIEvalEvaluator` applies: the boxed answer;
/// else the text between the outermost dollar signs of the last line that has two; else the text after the last `=`;
/// else the last number. `None` when none of these is found.
///
/// # Errors
/// The search for the last number is given up on this text.
pub fn agieval_math(text: &str) -> Result<Option<String>, Undecided> {
    static DOLLARS: LazyLock<Regex> = LazyLock::new(|| constant(r"\$(.*)\$"));
    let text = without_prefix(text);
    if text.contains("\\boxed") {
        let boxed = last_boxed(&text).and_then(|boxed| boxed.strip_prefix("\\boxed{")?.strip_suffix('}'));
        return Ok(boxed.map(|answer| after_equals(answer).to_owned()));
    }
    let dollars = DOLLARS.captures_iter(&text).last().and_then(|found| found.get(1));
    match dollars.map(|inside| after_equals(inside.as_str())) {
        Some(answer) if !answer.is_empty() => Ok(Some(answer.to_owned())),
        _ => bare(&text),
    }
}

fn bare(text: &str) -> Result<Option<String>, Undecided> {
    if let Some((_, after)) = text.rsplit_once('=') {
        let answer = after.trim_start_matches(' ').trim_end_matches('.');
        return Ok(answer.split("\\n").next().map(str::to_owned));
    }
    last_number(text)
}

/// The last of Python's `(?:\$)?\d+(?:\.\d+)?(?![\w\d])`. The look-ahead makes the engine give digits back: `1.5x` holds
/// `1`, whose next character is a full stop; `12x` holds nothing.
fn last_number(text: &str) -> Result<Option<String>, Undecided> {
    static NUMBER: LazyLock<Option<super::Pattern>> =
        LazyLock::new(|| super::Pattern::new(r"(?:\$)?\d+(?:\.\d+)?(?![\w\d])").ok());
    let Some(number) = NUMBER.as_ref() else { return Ok(None) };
    let last = number.find_all(text)?.pop();
    Ok(last.and_then(|groups| groups.first().copied().flatten().map(str::to_owned)))
}

fn after_equals(answer: &str) -> &str {
    answer.rsplit_once('=').map_or(answer, |(_, after)| after.trim_start_matches(' '))
}

/// Removes the few-shot examples' words for "the answer is", and everything before them.
fn without_prefix(text: &str) -> String {
    ["The answer is therefore", "答案是"].iter().fold(text.to_owned(), |text, prefix| {
        let after = text.strip_prefix(prefix).or_else(|| text.rsplit_once(prefix).map(|(_, after)| after));
        after.map(|after| compass_pyfmt::strip(after).to_owned()).unwrap_or(text)
    })
}
