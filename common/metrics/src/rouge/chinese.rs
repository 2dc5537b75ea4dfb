//! ROUGE of Chinese texts: OpenCompass's `JiebaRougeEvaluator`, that is jieba's words in the `rouge_chinese` package.

use super::lcs::lcs_length;
use super::score::RougeScore;
use crate::text::{Pattern, collapse};
use compass_postprocess::general;
use compass_postprocess::words;
use compass_pyfmt::is_space;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The three measures of one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChineseRouge {
    /// Distinct words.
    pub rouge1: RougeScore,
    /// Distinct pairs of words.
    pub rouge2: RougeScore,
    /// The longest common subsequence of all words.
    pub rouge_l: RougeScore,
}

/// The scores of one sample; the metric is 100 times the mean of the F-measures.
///
/// Both sides go through `general_postprocess`; an empty one is replaced by a word that matches nothing.
pub fn jieba_rouge(prediction: &str, reference: &str) -> ChineseRouge {
    let predicted = cut(prediction, "__PREDPLACEHOLDER__");
    let target = cut(reference, "__REFRPLACEHOLDER__");
    let shared = lcs_length(&target, &predicted) as f64;
    ChineseRouge {
        rouge1: distinct_ngrams(&predicted, &target, 1),
        rouge2: distinct_ngrams(&predicted, &target, 2),
        rouge_l: RougeScore::padded(shared / predicted.len() as f64, shared / target.len() as f64),
    }
}

fn cut(text: &str, placeholder: &str) -> Vec<String> {
    let spaced = words(&general(text)).join(" ");
    let text = if spaced.is_empty() { placeholder } else { &spaced };
    let sentences = sentences(text);
    let sentences = sentences.split('\n').filter(|sentence| !sentence.is_empty());
    sentences.flat_map(|sentence| collapse(sentence).split(' ').map(String::from).collect::<Vec<_>>()).collect()
}

/// `rouge_chinese`'s `cut_sent`: sentences on lines of their own. Ends of sentences are seldom left in a text without
/// punctuation, but they are what the package looks for.
fn sentences(text: &str) -> String {
    static STOP: Pattern = Pattern::new(r"([。！？?])([^”’])");
    static DOTS: Pattern = Pattern::new(r"(\.{6})([^”’])");
    static ELLIPSIS: Pattern = Pattern::new(r"(…{2})([^”’])");
    static QUOTED: Pattern = Pattern::new(r"([。！？?][”’])([^，。！？?])");
    let mut text = text.to_string();
    for pattern in [&STOP, &DOTS, &ELLIPSIS, &QUOTED] {
        text = pattern.replace_all(&text, "$1\n$2").into_owned();
    }
    text.trim_end_matches(is_space).to_string()
}

fn distinct_ngrams(predicted: &[String], target: &[String], n: usize) -> RougeScore {
    let predicted: HashSet<&[String]> = predicted.windows(n).collect();
    let target: HashSet<&[String]> = target.windows(n).collect();
    let shared = predicted.intersection(&target).count() as f64;
    let share = |of: usize| if of == 0 { 0.0 } else { shared / of as f64 };
    RougeScore::padded(share(predicted.len()), share(target.len()))
}
