//! Rates of k answers drawn from the several to each question.

use super::Metric;
use serde::{Deserialize, Serialize};

/// Rates of one model on one data set, in percent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ByK {
    /// Questions that were scored.
    pub questions: u64,
    /// Answers to a question: the fewest and the most.
    pub answers: (u64, u64),
    /// Questions whose answers are neither all right nor all wrong.
    pub unsettled: u64,
    /// Standard error of pass@1 that draws alone make: the same questions answered again.
    pub draws_stderr: Option<f64>,
    /// By k, ascending.
    pub rates: Vec<AtK>,
}

/// Rates of k answers. Standard errors and intervals are over questions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtK {
    pub k: u64,
    /// Any of them is right.
    pub pass: Metric,
    /// Their majority is; `None` where answers do not vote.
    pub maj: Option<Metric>,
    /// All of them are.
    pub all: Metric,
}
