//! DROP as lm-eval scores it: Dua et al. 2019, spans aligned one to one.

use super::exact_match::normalize_answer;
use crate::text::{Pattern, collapse, is_punctuation, replace_articles, split, strip};
use compass_pyfmt::{float, float_text};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Exact match and F1 of one prediction, both in 0..=1; F1 is rounded to two digits as the peer rounds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DropScore {
    /// 1 when the predicted spans are the spans of an answer.
    pub em: f64,
    /// The greatest mean F1 of aligned spans over the answers.
    pub f1: f64,
}

/// lm-eval's `process_results` for DROP: one predicted text against several answers, each a list of spans.
///
/// An answer whose first span is blank counts nothing, as there.
pub fn drop_bags(prediction: &str, answers: &[Vec<&str>]) -> DropScore {
    let predicted = normalize(prediction);
    let mut best = DropScore::default();
    for answer in answers {
        if answer.first().is_none_or(|first| strip(first).is_empty()) {
            continue;
        }
        let spans: Vec<String> = answer.iter().map(|span| normalize(span)).collect();
        let em = f64::from(spans.len() == 1 && spans[0] == predicted);
        let f1 = aligned_f1(&bag(&predicted), &spans);
        best = DropScore { em: best.em.max(em), f1: best.f1.max(f1) };
    }
    best
}

/// With one predicted span only one gold span can be aligned: the one of greatest F1, the others count 0.
fn aligned_f1(predicted: &HashSet<&str>, spans: &[String]) -> f64 {
    let best = spans.iter().map(|span| {
        let gold = bag(span);
        if numbers_agree(&gold, predicted) { bag_f1(predicted, &gold) } else { 0.0 }
    });
    round2(best.fold(0.0, f64::max) / spans.len() as f64)
}

fn bag(span: &str) -> HashSet<&str> {
    split(span).collect()
}

fn bag_f1(predicted: &HashSet<&str>, gold: &HashSet<&str>) -> f64 {
    let shared = gold.intersection(predicted).count() as f64;
    let precision = if predicted.is_empty() { 1.0 } else { shared / predicted.len() as f64 };
    let recall = if gold.is_empty() { 1.0 } else { shared / gold.len() as f64 };
    if precision == 0.0 && recall == 0.0 { 0.0 } else { (2.0 * precision * recall) / (precision + recall) }
}

/// Gold numbers, when there are any, must be met by one of the predicted.
fn numbers_agree(gold: &HashSet<&str>, predicted: &HashSet<&str>) -> bool {
    let mut numbers = gold.iter().filter(|word| float(word).is_some()).peekable();
    numbers.peek().is_none() || numbers.any(|number| predicted.contains(number))
}

fn normalize(answer: &str) -> String {
    let tokens = answer.split([' ', '-']).map(|token| {
        let token = token.to_lowercase();
        let token =
            if float(&token).is_some() { token } else { token.chars().filter(|&c| !is_punctuation(c)).collect() };
        let token = float(&token).map_or(token, float_text);
        collapse(&replace_articles(&token, " "))
    });
    tokens.filter(|token| !token.is_empty()).collect::<Vec<_>>().join(" ")
}

/// NumPy's `round(x, 2)`: scaled, rounded half to even, scaled back.
fn round2(number: f64) -> f64 {
    (number * 100.0).round_ties_even() / 100.0
}

// DROP as OpenCompass scores it (`DropOpenAIEvaluator`, after OpenAI's simple-evals).

/// Returns whether the extracted answer and one of the references (separated by `|`) are substrings of one another.
///
/// The answer is what follows the first `Answer:` on its line in any case, else the whole prediction.
pub fn drop_fuzzy(prediction: &str, references: &str) -> bool {
    static ANSWER: Pattern = Pattern::new(r"(?i)Answer[\s\x1c-\x1f]*:[\s\x1c-\x1f]*([^\n]+)");
    let answer = ANSWER.captures(prediction).and_then(|found| found.get(1)).map_or(prediction, |found| found.as_str());
    let answer = normalize_answer(answer);
    references.split('|').any(|reference| {
        let reference = normalize_answer(reference);
        if answer.is_empty() || reference.is_empty() {
            return answer == reference;
        }
        answer.contains(&reference) || reference.contains(&answer)
    })
}
