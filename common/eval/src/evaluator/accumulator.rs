//! The fold from samples to metrics, in any split and order.
//!
//! The state is integers, the set of samples seen, and items by sample index; floats are added in order of the index and
//! only at the end. So `merge` is associative and commutative to the bit, a shard's state can be compared with the
//! master's own fold by its digest (`canonical.rs`), and no sample can count twice.

use super::finish::{Effort, by_k, finish};
use super::series::AllSeries;
use super::{Counts, Metrics, judge};
use compass_plan::{EvalSpec, Sample};
use compass_types::intervals::IntervalSet;
use compass_types::result::{Outcome, SampleResult};
use serde::{Deserialize, Serialize};

/// Scores and counts of the samples of one (model, data set) pair, or of any contribution of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accumulator {
    spec: EvalSpec,
    /// Samples that were observed, scored or failed.
    samples: IntervalSet,
    counts: Counts,
    lines: AllSeries,
}

/// Reason that two accumulators are not of the same table cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// They evaluate differently, so their counts are not comparable.
    #[error("the accumulators belong to different evaluators or postprocessors")]
    DifferentSpec,
    /// They share samples, which would count twice.
    #[error("the accumulators share {samples} samples, which would count twice")]
    Overlap {
        /// Number of samples in both.
        samples: u32,
    },
}

impl Accumulator {
    /// One that has seen nothing.
    pub fn new(spec: &EvalSpec) -> Self {
        Self { spec: spec.clone(), samples: IntervalSet::new(), counts: Counts::default(), lines: AllSeries::default() }
    }

    /// Counts one sample; returns whether it was new. A sample that was observed before changes nothing: the first result
    /// stands.
    pub fn observe(&mut self, sample: &Sample, result: &SampleResult) -> bool {
        if !self.samples.insert(sample.index) {
            return false;
        }
        match judge(sample, result, &self.spec) {
            Ok(score) => {
                self.counts.scored += 1;
                self.counts.ties += u64::from(score.tie);
                if let Outcome::Generated(answers) = &result.outcome {
                    self.counts.answers += answers.len() as u64;
                    self.counts.unfinished += answers.iter().filter(|answer| answer.is_unfinished()).count() as u64;
                }
                score.contributions.into_iter().for_each(|contribution| self.lines.add(sample.index, contribution));
            }
            Err(_) => self.counts.failed += 1,
        }
        true
    }

    /// Adds the samples of `other`.
    ///
    /// # Errors
    /// [`MergeError`] when the two evaluate differently or contribution a sample; `self` is then unchanged.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        if self.spec != other.spec {
            return Err(MergeError::DifferentSpec);
        }
        let samples = IntervalSet::from_pairs(self.samples.pairs().iter().chain(other.samples.pairs()).copied());
        let shared = self.samples.len() + other.samples.len() - samples.len();
        if shared > 0 {
            return Err(MergeError::Overlap { samples: shared });
        }
        self.samples = samples;
        self.counts.add(other.counts);
        self.lines.merge(&other.lines);
        Ok(())
    }

    /// The samples observed so far.
    pub fn samples(&self) -> &IntervalSet {
        &self.samples
    }

    /// Returns the numbers of samples by what became of them.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    pub(super) fn lines(&self) -> &AllSeries {
        &self.lines
    }

    /// The metrics of what was observed so far, with their uncertainty. Where only a bootstrap knows that, this takes up
    /// to seconds for tens of thousands of samples.
    pub fn finish(&self) -> Metrics {
        Metrics {
            values: finish(&self.lines, Effort::Full),
            counts: self.counts,
            by_k: by_k(&self.lines),
            answers: None,
        }
    }

    /// As [`Accumulator::finish`] without what takes a bootstrap, and without rates of k answers: for numbers that are shown while a
    /// run goes on.
    pub fn running(&self) -> Metrics {
        Metrics { values: finish(&self.lines, Effort::ClosedForm), counts: self.counts, by_k: None, answers: None }
    }
}
