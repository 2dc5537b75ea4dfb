//! Answers as normalised texts and bags of words, and whether they are equal.

use crate::text::{collapse, is_punctuation, replace_articles, split};
use compass_postprocess::general;
use regex::Regex;
use std::collections::HashMap;
use std::hash::Hash;

// The two normalisers of answers: SQuAD's for English, LongBench's for Chinese.

/// SQuAD's `normalize_answer`: lower case, ASCII punctuation dropped, articles made spaces, white space collapsed.
pub fn normalize_answer(text: &str) -> String {
    let lower = text.to_lowercase();
    let kept: String = lower.chars().filter(|&c| !is_punctuation(c)).collect();
    collapse(&replace_articles(&kept, " "))
}

/// LongBench's `normalize_zh_answer`: lower case, ASCII and Chinese punctuation and all white space dropped.
pub fn normalize_zh_answer(text: &str) -> String {
    let lower = text.to_lowercase();
    let kept: String = lower.chars().filter(|&c| !is_punctuation(c) && !CHINESE_PUNCTUATION.contains(c)).collect();
    split(&kept).collect()
}

const CHINESE_PUNCTUATION: &str = "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀ ｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏.";

// Exact match: OpenCompass's `EMEvaluator`, and lm-eval's `exact_match` with its options.

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
    /// Returns whether both sides are equal once what is to be ignored is gone.
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

// `collections.Counter` intersections and the F1 score made of them.

/// The size of the multiset intersection of two lists.
pub(super) fn shared<T: Eq + Hash>(left: &[T], right: &[T]) -> usize {
    let mut counts: HashMap<&T, usize> = HashMap::new();
    for item in left {
        *counts.entry(item).or_default() += 1;
    }
    let mut shared = 0;
    for item in right {
        if let Some(count) = counts.get_mut(item).filter(|count| **count > 0) {
            *count -= 1;
            shared += 1;
        }
    }
    shared
}

/// Token F1: the harmonic mean of shared / predicted and shared / referenced, 0 when nothing is shared.
pub(super) fn token_f1<T: Eq + Hash>(prediction: &[T], reference: &[T]) -> f64 {
    let shared = shared(prediction, reference) as f64;
    if shared == 0.0 {
        return 0.0;
    }
    let precision = shared / prediction.len() as f64;
    let recall = shared / reference.len() as f64;
    (2.0 * precision * recall) / (precision + recall)
}
