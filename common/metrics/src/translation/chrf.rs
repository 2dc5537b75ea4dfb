//! chrF and chrF++ (Popović 2015, 2017) as sacrebleu computes them: characters 1 to 6 without white space, words 1 to 2.

use crate::text::{is_punctuation, split};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::Hash;

const CHARACTER_ORDERS: usize = 6;
/// Recall counts twice as much as precision: beta squared.
const FACTOR: f64 = 4.0;

/// chrF without words, chrF++ with words of orders 1 and 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chrf {
    /// The highest order of words: 0 for chrF, 2 for chrF++.
    pub word_order: usize,
    /// Compare in lower case.
    pub lowercase: bool,
}

/// The sufficient statistics of chrF; they add up over segments of the same metric.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChrfStats {
    /// For each order n-grams predicted, n-grams of the reference, n-grams matched.
    pub orders: Vec<[u64; 3]>,
}

impl ChrfStats {
    /// Adds the statistics of other segments.
    pub fn merge(&mut self, other: &Self) {
        let more = other.orders.len().max(self.orders.len());
        self.orders.resize(more, [0; 3]);
        for (mine, others) in self.orders.iter_mut().zip(&other.orders) {
            mine.iter_mut().zip(others).for_each(|(mine, other)| *mine += other);
        }
    }

    /// The score in 0..=100 of a corpus, or of one segment; orders that a side lacks are left out of the average.
    pub fn score(&self) -> f64 {
        let (mut precision, mut recall, mut orders) = (0.0, 0.0, 0.0);
        for &[predicted, target, matched] in &self.orders {
            if predicted > 0 && target > 0 {
                precision += matched as f64 / predicted as f64;
                recall += matched as f64 / target as f64;
                orders += 1.0;
            }
        }
        if precision + recall == 0.0 {
            return 0.0;
        }
        let (precision, recall) = (precision / orders, recall / orders);
        100.0 * ((1.0 + FACTOR) * precision * recall / (FACTOR * precision + recall))
    }
}

impl Chrf {
    /// The statistics of one segment against the reference that scores best, ties to the first.
    pub fn stats(&self, prediction: &str, references: &[&str]) -> ChrfStats {
        let predicted = self.segment(prediction);
        let mut best: Option<(f64, ChrfStats)> = None;
        for reference in references {
            let stats = self.against(&predicted, &self.segment(reference));
            let score = stats.score();
            if best.as_ref().is_none_or(|(best, _)| score > *best) {
                best = Some((score, stats));
            }
        }
        best.map(|(_, stats)| stats).unwrap_or_default()
    }

    fn against(&self, predicted: &Segment, target: &Segment) -> ChrfStats {
        let characters = (1..=CHARACTER_ORDERS).map(|n| order(&predicted.characters, &target.characters, n));
        let words = (1..=self.word_order).map(|n| order(&predicted.words, &target.words, n));
        ChrfStats { orders: characters.chain(words).collect() }
    }

    fn segment(&self, text: &str) -> Segment {
        let text = if self.lowercase { text.to_lowercase() } else { text.to_string() };
        Segment { characters: split(&text).flat_map(str::chars).collect(), words: words(&text) }
    }
}

struct Segment {
    characters: Vec<char>,
    words: Vec<String>,
}

/// Words with one mark of punctuation split off, at the end or else at the beginning.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in split(text) {
        let mut ends = word.chars();
        match (ends.next(), ends.next_back()) {
            (Some(_), Some(last)) if is_punctuation(last) => {
                words.extend([word[..word.len() - 1].to_string(), last.to_string()]);
            }
            (Some(first), Some(_)) if is_punctuation(first) => {
                words.extend([first.to_string(), word[1..].to_string()]);
            }
            _ => words.push(word.to_string()),
        }
    }
    words
}

fn order<T: Eq + Hash>(predicted: &[T], target: &[T], n: usize) -> [u64; 3] {
    let target = counts(target, n);
    let predicted = counts(predicted, n);
    let total = |counts: &HashMap<_, u64>| counts.values().sum::<u64>();
    let matched = predicted.iter().map(|(gram, count)| *count.min(target.get(gram).unwrap_or(&0))).sum();
    [if target.is_empty() { 0 } else { total(&predicted) }, total(&target), matched]
}

fn counts<T: Eq + Hash>(items: &[T], n: usize) -> HashMap<&[T], u64> {
    let mut counts = HashMap::new();
    items.windows(n).for_each(|gram| *counts.entry(gram).or_default() += 1);
    counts
}
