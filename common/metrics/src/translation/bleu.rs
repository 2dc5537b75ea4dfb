//! BLEU (Papineni et al. 2002) as sacrebleu computes it: orders 1 to 4, exponential smoothing.

use super::tokenizer::BleuTokenizer;
use compass_pyfmt::is_space;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

const ORDERS: usize = 4;

/// Settings of BLEU: how to tokenize, and how to treat orders that a short text does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bleu {
    /// The tokenizer.
    pub tokenizer: BleuTokenizer,
    /// Compare in lower case.
    pub lowercase: bool,
    /// Average over the orders that the prediction has: for single sentences.
    pub effective_order: bool,
}

/// The sufficient statistics of BLEU; they add up over segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BleuStats {
    /// Tokens of the predictions.
    pub sys_len: u64,
    /// Tokens of the closest references.
    pub ref_len: u64,
    /// Matched n-grams by order.
    pub correct: [u64; ORDERS],
    /// Predicted n-grams by order.
    pub total: [u64; ORDERS],
}

impl BleuStats {
    /// Adds the statistics of other segments.
    pub fn merge(&mut self, other: &Self) {
        self.sys_len += other.sys_len;
        self.ref_len += other.ref_len;
        for order in 0..ORDERS {
            self.correct[order] += other.correct[order];
            self.total[order] += other.total[order];
        }
    }

    /// The brevity penalty, in 0..=1.
    pub fn brevity_penalty(&self) -> f64 {
        match (self.sys_len < self.ref_len, self.sys_len) {
            (false, _) => 1.0,
            (true, 0) => 0.0,
            (true, sys_len) => (1.0 - self.ref_len as f64 / sys_len as f64).exp(),
        }
    }
}

impl Bleu {
    /// The statistics of one segment; n-grams are clipped at the greatest count of any reference, the length is the
    /// closest reference's, the shorter of two equally close.
    pub fn stats(&self, prediction: &str, references: &[&str]) -> BleuStats {
        let predicted = self.tokens(prediction);
        let targets: Vec<Vec<String>> = references.iter().map(|reference| self.tokens(reference)).collect();
        let closest = targets.iter().map(Vec::len).min_by_key(|&len| (len.abs_diff(predicted.len()), len));
        let mut stats =
            BleuStats { sys_len: predicted.len() as u64, ref_len: closest.unwrap_or(0) as u64, ..BleuStats::default() };
        for n in 1..=ORDERS {
            let mut limits: HashMap<&[String], u64> = HashMap::new();
            for target in &targets {
                for (gram, count) in counts(target, n) {
                    let limit = limits.entry(gram).or_default();
                    *limit = count.max(*limit);
                }
            }
            for (gram, count) in counts(&predicted, n) {
                stats.total[n - 1] += count;
                stats.correct[n - 1] += limits.get(gram).map_or(0, |&limit| count.min(limit));
            }
        }
        stats
    }

    /// The score in 0..=100 of a corpus, or of one segment.
    pub fn score(&self, stats: &BleuStats) -> f64 {
        if stats.correct == [0; ORDERS] {
            return 0.0;
        }
        let mut smooth = 1.0;
        let mut order = ORDERS;
        let mut precisions = [0.0; ORDERS];
        for (n, (&correct, &total)) in stats.correct.iter().zip(&stats.total).enumerate() {
            if total == 0 {
                break;
            }
            if self.effective_order {
                order = n + 1;
            }
            precisions[n] = if correct == 0 {
                smooth *= 2.0;
                100.0 / (smooth * total as f64)
            } else {
                100.0 * correct as f64 / total as f64
            };
        }
        // A precision of nought counts as a very small logarithm, as there.
        let log = |precision: &f64| if *precision == 0.0 { -9_999_999_999.0 } else { precision.ln() };
        let sum: f64 = precisions[..order].iter().map(log).sum();
        stats.brevity_penalty() * (sum / order as f64).exp()
    }

    fn tokens(&self, segment: &str) -> Vec<String> {
        let lower = if self.lowercase { segment.to_lowercase() } else { segment.to_string() };
        self.tokenizer.tokenize(lower.trim_end_matches(is_space))
    }
}

fn counts(tokens: &[String], n: usize) -> HashMap<&[String], u64> {
    let mut counts = HashMap::new();
    tokens.windows(n).for_each(|gram| *counts.entry(gram).or_default() += 1);
    counts
}
