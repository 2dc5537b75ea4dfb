//! TER (Snover et al. 2006) as sacrebleu computes it with its defaults: lower case, words by white space.

use super::ter_edits::edits;
use crate::text::split;
use serde::{Deserialize, Serialize};

/// The sufficient statistics of TER; they add up over segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TerStats {
    /// The fewest edits (shifts, insertions, deletions, substitutions) to any reference.
    pub edits: u64,
    /// The mean length of the references, in words.
    pub ref_length: f64,
}

impl TerStats {
    /// The statistics of one segment; without references there is nothing to edit towards.
    pub fn of(prediction: &str, references: &[&str]) -> Self {
        let lower = prediction.to_lowercase();
        let predicted: Vec<&str> = split(&lower).collect();
        let lower: Vec<String> = references.iter().map(|reference| reference.to_lowercase()).collect();
        let targets: Vec<Vec<&str>> = lower.iter().map(|reference| split(reference).collect()).collect();
        let words: usize = targets.iter().map(Vec::len).sum();
        Self {
            edits: targets.iter().map(|target| edits(&predicted, target)).min().unwrap_or(0),
            ref_length: words as f64 / targets.len().max(1) as f64,
        }
    }

    /// Adds the statistics of other segments.
    pub fn merge(&mut self, other: &Self) {
        self.edits += other.edits;
        self.ref_length += other.ref_length;
    }

    /// 100 times edits over reference words, at least 0; 100 for edits against empty references.
    pub fn score(&self) -> f64 {
        if self.ref_length > 0.0 {
            return 100.0 * (self.edits as f64 / self.ref_length);
        }
        if self.edits > 0 { 100.0 } else { 0.0 }
    }
}
