//! Exact match: OpenCompass's `EMEvaluator`, and lm-eval's `exact_match` with its options.

use crate::text::is_punctuation;
use compass_postprocess::general;
use regex::Regex;

/// OpenCompass's `EMEvaluator`: whether the processed prediction is an answer, processed or as it is.
pub fn general_exact_match(prediction: &str, answers: &[&str]) -> bool {
    let prediction = general(prediction);
    answers.iter().any(|answer| *answer == prediction || general(answer) == prediction)
}

/// lm-eval's `exact_match_hf_evaluate`: what to ignore on both sides, in this order.
#[derive(Clone, Debug, Default)]
pub struct ExactMatch {
    /// Patterns whose matches are deleted one after the other.
    pub regexes_to_ignore: Vec<Regex>,
    /// Compare in lower case.
    pub ignore_case: bool,
    /// Delete ASCII punctuation.
    pub ignore_punctuation: bool,
    /// Delete ASCII digits.
    pub ignore_numbers: bool,
}

impl ExactMatch {
    /// Whether both sides are equal once what is to be ignored is gone.
    pub fn matches(&self, prediction: &str, reference: &str) -> bool {
        self.reduce(prediction) == self.reduce(reference)
    }

    fn reduce(&self, text: &str) -> String {
        let mut text = text.to_string();
        for pattern in &self.regexes_to_ignore {
            text = pattern.replace_all(&text, "").into_owned();
        }
        if self.ignore_case {
            text = text.to_lowercase();
        }
        text.retain(|c| !(self.ignore_punctuation && is_punctuation(c) || self.ignore_numbers && c.is_ascii_digit()));
        // NumPy's fixed-width strings lose what trails as NUL.
        text.truncate(text.trim_end_matches('\0').len());
        text
    }
}
