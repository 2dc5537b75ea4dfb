//! AGIEval's cloze questions (OpenCompass's `AGIEvalEvaluator`).

use super::boxed::{last_boxed, remove_boxed};
use super::fraction::Peer;
use super::strip::strip_v1;
use crate::text::{Pattern, strip};
use compass_pyfmt::is_word;

/// `parse_math_answer`: the answer in a completion, by box, dollars, equals sign or last number; `None` without any.
pub fn parse_math_answer(completion: &str) -> Option<String> {
    static DOLLARS: Pattern = Pattern::new(r"\$(.*)\$");
    let text = without_prefix(completion);
    if text.contains("\\boxed") {
        return last_boxed(&text).and_then(remove_boxed).map(|answer| right_of_equals(answer).into());
    }
    let between = DOLLARS.captures_iter(&text).last().and_then(|found| Some(found.get(1)?.as_str()));
    match between.map(right_of_equals).filter(|answer| !answer.is_empty()) {
        Some(answer) => Some(answer.into()),
        None => without_dollars(&text),
    }
}

/// AGIEval's `is_equiv` of [`parse_math_answer`]'s result with the gold answer.
pub fn agieval_equivalent(prediction: Option<&str>, gold: &str) -> bool {
    let peer = Peer { bare_frac_raises: true, slash_words_raise: false };
    let Some(prediction) = prediction else { return false };
    match (strip_v1(prediction, peer), strip_v1(gold, peer)) {
        (Ok(left), Ok(right)) => left == right,
        _ => prediction == gold,
    }
}

fn right_of_equals(text: &str) -> &str {
    text.rsplit_once('=').map_or(text, |(_, right)| right.trim_start_matches(' '))
}

/// Returns the text after the last `The answer is therefore`, then `答案是`.
fn without_prefix(text: &str) -> String {
    let mut text = text;
    for prefix in ["The answer is therefore", "答案是"] {
        let start = if text.starts_with(prefix) { Some(0) } else { text.rfind(prefix) };
        if let Some(start) = start {
            text = strip(&text[start + prefix.len()..]);
        }
    }
    text.to_string()
}

/// Returns the text after the last equals sign, up to a backslash and n; else the last number that no letter or digit follows.
fn without_dollars(text: &str) -> Option<String> {
    if text.contains('=') {
        let right = right_of_equals(text).trim_end_matches('.');
        return Some(right.split("\\n").next().unwrap_or(right).into());
    }
    let mut last = None;
    let mut at = 0;
    while let Some(found) = NUMBER.find_at(text, at) {
        match longest_unfollowed(text, found.range()) {
            Some(end) => {
                last = Some(text[found.start()..end].to_string());
                at = end;
            }
            None => at = found.start() + text[found.start()..].chars().next().map_or(1, char::len_utf8),
        }
    }
    last
}

static NUMBER: Pattern = Pattern::new(r"(?:\$)?\d+(?:\.\d+)?");

/// Returns the end of a match of `\$?\d+(?:\.\d+)?(?![\w\d])` that begins at `found.start`: the pattern gives digits back until no
/// word character follows.
fn longest_unfollowed(text: &str, found: std::ops::Range<usize>) -> Option<usize> {
    static WHOLE: Pattern = Pattern::new(r"^(?:\$)?\d+(?:\.\d+)?$");
    let ends = text[found.clone()].char_indices().map(|(at, c)| found.start + at + c.len_utf8()).rev();
    ends.filter(|&end| !text[end..].starts_with(is_word)).find(|&end| WHOLE.is_match(&text[found.start..end]))
}
