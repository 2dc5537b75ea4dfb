//! Answers at the end of a chain of thought: BBH, StrategyQA, TheoremQA.

use super::pattern::constant;
use compass_pyfmt::{is_space, strip};
use regex::Regex;
use std::sync::LazyLock;

/// OpenCompass's `bbh_mcq_postprocess` (and `charm_reason_postprocess`): the first letter in parentheses after the first
/// `answer is `, or else the first capital A to Z there, or else all of it.
pub fn bbh_mcq(text: &str) -> String {
    static PARENTHESISED: LazyLock<Regex> = LazyLock::new(|| constant(r"\(([A-Z])\)*"));
    let answer = text.split("answer is ").nth(1).map_or(text, strip);
    match PARENTHESISED.captures(answer) {
        Some(found) => found[1].to_owned(),
        None => answer.chars().find(char::is_ascii_uppercase).map_or_else(|| answer.to_owned(), String::from),
    }
}

/// OpenCompass's `bbh_freeform_postprocess`: the first line after the last `answer is`, without a full stop at its end;
/// what is bold in it, if anything; a leading yes, no, true or false alone, capitalised; commas as spaces unless they
/// are between digits.
pub fn bbh_freeform(text: &str) -> String {
    static ANSWER: LazyLock<Regex> = LazyLock::new(|| constant(r"(?i)answer is\s*:?\s*"));
    static BOLD: LazyLock<Regex> = LazyLock::new(|| constant(r"\*\*(.*?)\*\*"));
    static OUTCOME: LazyLock<Regex> = LazyLock::new(|| constant(r"(?i)^(yes|no|true|false)\b"));
    static NUMBERS: LazyLock<Regex> = LazyLock::new(|| constant(r"\d\s*,\s*\d"));
    static COMMA: LazyLock<Regex> = LazyLock::new(|| constant(r"\s*,\s*"));
    static SPACES: LazyLock<Regex> = LazyLock::new(|| constant(r"\s+"));
    let mut answer = ANSWER.find_iter(text).last().map_or(text, |mark| strip(&text[mark.end()..]));
    answer = strip(answer.split('\n').next().unwrap_or_default());
    answer = answer.strip_suffix('.').map_or(answer, strip);
    if let Some(bold) = BOLD.captures(answer).and_then(|found| found.get(1)) {
        answer = strip(bold.as_str());
    }
    if let Some(outcome) = OUTCOME.find(answer) {
        let lower = outcome.as_str().to_lowercase();
        return lower[..1].to_uppercase() + &lower[1..];
    }
    let spaced = match NUMBERS.is_match(answer) {
        true => answer.to_owned(),
        false => COMMA.replace_all(answer, " ").into_owned(),
    };
    strip(&SPACES.replace_all(&spaced, " ")).to_owned()
}

/// OpenCompass's `strategyqa_pred_postprocess`: `yes` or `no`, whichever comes first after the last `answer is ` of the
/// first paragraph; empty when neither does.
pub fn strategyqa(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let answer = paragraph.rsplit("answer is ").next().unwrap_or_default().to_lowercase();
    let first = ["yes", "no"].into_iter().filter_map(|word| Some((answer.find(word)?, word))).min();
    first.map_or("", |(_, word)| word).to_owned()
}

/// OpenCompass's `strategyqa_dataset_postprocess`: `yes` for the gold answer `True`, else `no`.
pub fn strategyqa_dataset(text: &str) -> String {
    if text == "True" { "yes" } else { "no" }.to_owned()
}

/// OpenCompass's `TheoremQA_postprocess`: the word after the first `answer is `, without punctuation around it; the
/// stripped text where it is not said.
pub fn theoremqa(text: &str) -> String {
    static ANSWER: LazyLock<Regex> = LazyLock::new(|| constant(r"answer is ([^\s]+)"));
    let text = strip(text);
    let word = ANSWER.captures(text).and_then(|found| found.get(1));
    word.map_or(text, |word| strip(word.as_str()).trim_matches(['.', ',', '?', '!', '"', '\'', ';', ':'])).to_owned()
}

/// OpenCompass's `TheoremQA_postprocess_v2`: the words of the last line after the last `is`, `be`, `are` or word that ends
/// in a colon, without full stops around them.
pub fn theoremqa_v2(text: &str) -> String {
    let line = strip(text).trim_matches('\n').rsplit('\n').next().unwrap_or_default();
    let stops = |word: &&str| !(matches!(*word, "is" | "be" | "are") || word.ends_with(':'));
    let mut words: Vec<&str> = line.split(' ').rev().take_while(stops).collect();
    words.reverse();
    words.join(" ").trim_matches(is_space).trim_matches('.').to_owned()
}
