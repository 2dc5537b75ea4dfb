//! The end result of an accumulator: metrics by name with their uncertainty, and what they count.

use super::Proportion;
use super::answers::AnswerFigures;
use serde::{Deserialize, Serialize};

/// lm-eval's name for accuracy by sum per code point of the answer.
pub const ACC_NORM: &str = "acc_norm";

/// Accuracy as answers are read a second time, where that is the first metric.
pub const READ_ACCURACY: &str = "read_accuracy";

/// The metrics of one model on one data set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// The first one is the default one. Empty when no sample was scored: a metric is withheld, never NaN.
    pub values: Vec<Metric>,
    pub counts: Counts,
    /// Rates of k answers, where there are several to each question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_k: Option<ByK>,
    /// Figures of the answers, where texts were generated and all of them were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Box<AnswerFigures>>,
}

/// One number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// OpenCompass's name, or lm-eval's where OpenCompass has none.
    pub name: String,
    /// In the metric's own unit: percent for contributions of right answers.
    pub value: f64,
    /// Standard error in the same unit, when it is known: lm-eval's closed form or bootstrap, or what the rule says.
    pub stderr: Option<f64>,
    /// 95 % interval in the same unit: Wilson's for a proportion ([`Proportion::wilson`]), else from the standard error.
    pub ci95: Option<(f64, f64)>,
}

/// Samples by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Samples that count in the metrics.
    pub scored: u64,
    /// Samples without a score.
    pub failed: u64,
    /// Failed samples that were not run any more, because the job was cancelled.
    #[serde(default)]
    pub cancelled: u64,
    /// Scored samples whose winning option had an equal; the first one won.
    pub ties: u64,
    /// Generated answers of scored samples.
    #[serde(default)]
    pub answers: u64,
    /// Answers among them whose thinking did not end.
    #[serde(default)]
    pub unfinished: u64,
}

/// Rates of k answers drawn from the several to each question, in percent.
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

impl Metrics {
    /// The metric of that name.
    pub fn get(&self, name: &str) -> Option<&Metric> {
        self.values.iter().find(|metric| metric.name == name)
    }

    /// Returns why there is no metric, in words; `None` when there is one. `expected` is the number of samples in the plan.
    pub fn withheld(&self, expected: u64) -> Option<String> {
        let Counts { failed, .. } = self.counts;
        let missing = self.counts.missing(expected);
        match (failed, missing) {
            _ if !self.values.is_empty() => None,
            (0, 0) => Some("the data set has no samples".into()),
            (failed, 0) if failed == self.counts.cancelled => {
                Some("no sample was scored: the job was cancelled".into())
            }
            (failed, 0) => Some(format!("no sample was scored: {failed} of {expected} failed")),
            (0, missing) => Some(format!("no sample was scored: {missing} of {expected} are missing")),
            _ => Some(format!("no sample was scored: {failed} of {expected} failed, {missing} are missing")),
        }
    }
}

impl Counts {
    /// Adds the counts of other samples.
    pub(super) fn add(&mut self, other: Self) {
        self.scored += other.scored;
        self.failed += other.failed;
        self.cancelled += other.cancelled;
        self.ties += other.ties;
        self.answers += other.answers;
        self.unfinished += other.unfinished;
    }

    /// Samples of the plan's `expected` that have no result at all.
    pub fn missing(&self, expected: u64) -> u64 {
        expected.saturating_sub(self.scored + self.failed)
    }
}

impl Metric {
    /// A contribution in percent. `percent` makes it of hits and total: the last bit of what is printed depends on the order of
    /// its operations, which is the evaluator's own in OpenCompass (22 of 40 is 55.00000000000001 for `acc` and 55.0 for
    /// `gsm8k`). `None` without samples.
    pub(super) fn proportion(name: &str, contribution: Proportion, percent: impl Fn(f64, f64) -> f64) -> Option<Self> {
        let value = percent(contribution.hits as f64, contribution.total as f64);
        (contribution.total > 0).then(|| Self {
            name: name.into(),
            value,
            stderr: contribution.stderr(),
            ci95: contribution.wilson(),
        })
    }
}
