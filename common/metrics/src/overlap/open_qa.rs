//! Open questions with several right answers: OpenCompass's TriviaQA, Natural Questions and SQuAD 2.0 evaluators.

use crate::text::strip;
use compass_postprocess::general;

/// `TriviaQAEvaluator`: whether any processed answer is a substring of the processed prediction.
pub fn trivia_qa(prediction: &str, answers: &[&str]) -> bool {
    let line = first_line_lower(strip(prediction));
    let mut rest = line.as_str();
    for mark in ["answer is", "a:", "answer:"] {
        rest = after_last(rest, mark);
    }
    contains_any(&general(strip(rest)), answers)
}

/// `NQEvaluator`: as [`trivia_qa`], but only `answer is` is a mark.
pub fn natural_questions(prediction: &str, answers: &[&str]) -> bool {
    let line = first_line_lower(strip(prediction));
    contains_any(&general(after_last(&line, "answer is")), answers)
}

/// `SQuAD20Evaluator`: whether the processed prediction equals a processed answer.
pub fn squad20(prediction: &str, answers: &[&str]) -> bool {
    let line = first_line_lower(prediction);
    let prediction = general(after_last(&line, "answer is"));
    answers.iter().any(|answer| general(answer).to_lowercase() == prediction)
}

fn contains_any(prediction: &str, answers: &[&str]) -> bool {
    answers.iter().any(|answer| prediction.contains(&general(answer).to_lowercase()))
}

fn first_line_lower(text: &str) -> String {
    text.split('\n').next().unwrap_or_default().to_lowercase()
}

fn after_last<'a>(text: &'a str, mark: &str) -> &'a str {
    text.rsplit(mark).next().unwrap_or(text)
}
