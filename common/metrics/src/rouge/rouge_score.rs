//! ROUGE as Google's `rouge_score` package computes it, which Hugging Face's `rouge` metric wraps.

use super::aggregate::RougeRow;
use super::lcs::{Tie, lcs_length, lcs_places};
use super::score::RougeScore;
use super::tokenize::{Stemming, tokenize};
use std::collections::{BTreeSet, HashMap};

/// ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum of one prediction; for Lsum each line is a sentence.
pub fn rouge(reference: &str, prediction: &str, stemming: Stemming) -> RougeRow {
    let target = tokenize(reference, stemming);
    let predicted = tokenize(prediction, stemming);
    let sentences = |text: &str| -> Vec<Vec<String>> {
        text.split('\n').filter(|line| !line.is_empty()).map(|line| tokenize(line, stemming)).collect()
    };
    RougeRow {
        rouge1: ngram_score(&target, &predicted, 1),
        rouge2: ngram_score(&target, &predicted, 2),
        rouge_l: lcs_score(&target, &predicted),
        rouge_lsum: summary_score(&sentences(reference), &sentences(prediction)),
    }
}

/// Per measure the score of the reference with the greatest F-measure, ties to the first; `None` without references.
pub fn best_rouge(references: &[&str], prediction: &str, stemming: Stemming) -> Option<RougeRow> {
    let rows = references.iter().map(|reference| rouge(reference, prediction, stemming));
    let better = |best: RougeScore, next: RougeScore| if next.fmeasure > best.fmeasure { next } else { best };
    rows.reduce(|best, next| RougeRow {
        rouge1: better(best.rouge1, next.rouge1),
        rouge2: better(best.rouge2, next.rouge2),
        rouge_l: better(best.rouge_l, next.rouge_l),
        rouge_lsum: better(best.rouge_lsum, next.rouge_lsum),
    })
}

fn ngram_score(target: &[String], predicted: &[String], n: usize) -> RougeScore {
    let target = counts(target.windows(n));
    let predicted = counts(predicted.windows(n));
    let shared: usize = target.iter().map(|(gram, count)| *count.min(predicted.get(gram).unwrap_or(&0))).sum();
    let total = |counts: &HashMap<_, usize>| counts.values().sum::<usize>().max(1) as f64;
    RougeScore::harmonic(shared as f64 / total(&predicted), shared as f64 / total(&target))
}

fn counts<T: Eq + std::hash::Hash>(items: impl Iterator<Item = T>) -> HashMap<T, usize> {
    let mut counts = HashMap::new();
    items.for_each(|item| *counts.entry(item).or_default() += 1);
    counts
}

fn lcs_score(target: &[String], predicted: &[String]) -> RougeScore {
    if target.is_empty() || predicted.is_empty() {
        return RougeScore::default();
    }
    let length = lcs_length(target, predicted) as f64;
    RougeScore::harmonic(length / predicted.len() as f64, length / target.len() as f64)
}

/// The union of each reference sentence's longest common subsequences with all predicted sentences, no token counted more
/// often than it occurs on either side.
fn summary_score(target: &[Vec<String>], predicted: &[Vec<String>]) -> RougeScore {
    let length = |sentences: &[Vec<String>]| sentences.iter().map(Vec::len).sum::<usize>();
    let (m, n) = (length(target), length(predicted));
    if m == 0 || n == 0 {
        return RougeScore::default();
    }
    let mut left_target = counts(target.iter().flatten());
    let mut left_predicted = counts(predicted.iter().flatten());
    let mut hits = 0;
    for sentence in target {
        let places = predicted.iter().flat_map(|other| lcs_places(sentence, other, Tie::Left)).collect::<BTreeSet<_>>();
        for token in places.into_iter().map(|place| &sentence[place]) {
            let (Some(a), Some(b)) = (left_target.get_mut(token), left_predicted.get_mut(token)) else { continue };
            if *a > 0 && *b > 0 {
                (*a, *b) = (*a - 1, *b - 1);
                hits += 1;
            }
        }
    }
    RougeScore::harmonic(f64::from(hits) / n as f64, f64::from(hits) / m as f64)
}
