//! The fold from samples to metrics, in any split and order.
//!
//! The state is integers and the set of samples seen. So `merge` is associative and commutative to the bit, a shard's state
//! can be compared with the master's own fold by equality, and no sample can count twice.

use super::{ACC_NORM, Counts, Metric, Metrics, Proportion, judge};
use crate::intervals::IntervalSet;
use crate::plan::{EvalSpec, Sample};
use crate::result::SampleResult;
use serde::{Deserialize, Serialize};

/// What is known of the samples of one (model, data set) pair, or of any share of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accumulator {
    spec: EvalSpec,
    /// Which samples were observed, scored or failed.
    samples: IntervalSet,
    scored: u64,
    failed: u64,
    ties: u64,
    correct: u64,
    /// Scored samples that have an `acc_norm`.
    normalised: u64,
    correct_normalised: u64,
}

/// Why two accumulators are not of the same table cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// They evaluate differently, so their counts do not mean the same.
    #[error("the accumulators belong to different evaluators or postprocessors")]
    DifferentSpec,
    /// They share samples, which would count twice.
    #[error("the accumulators share {samples} samples, which would count twice")]
    Overlap {
        /// How many.
        samples: u32,
    },
}

impl Accumulator {
    /// One that has seen nothing.
    pub fn new(spec: &EvalSpec) -> Self {
        Self {
            spec: spec.clone(),
            samples: IntervalSet::new(),
            scored: 0,
            failed: 0,
            ties: 0,
            correct: 0,
            normalised: 0,
            correct_normalised: 0,
        }
    }

    /// Counts one sample; returns whether it was new. A sample that was observed before changes nothing: the first result
    /// stands.
    pub fn observe(&mut self, sample: &Sample, result: &SampleResult) -> bool {
        if !self.samples.insert(sample.index) {
            return false;
        }
        match judge(sample, result, &self.spec) {
            Ok(verdict) => {
                self.scored += 1;
                self.ties += u64::from(verdict.tie);
                self.correct += u64::from(verdict.correct);
                self.normalised += u64::from(verdict.correct_normalised.is_some());
                self.correct_normalised += u64::from(verdict.correct_normalised == Some(true));
            }
            Err(_) => self.failed += 1,
        }
        true
    }

    /// Adds the samples of `other`.
    ///
    /// # Errors
    /// [`MergeError`] when the two evaluate differently or share a sample; `self` is then unchanged.
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
        self.scored += other.scored;
        self.failed += other.failed;
        self.ties += other.ties;
        self.correct += other.correct;
        self.normalised += other.normalised;
        self.correct_normalised += other.correct_normalised;
        Ok(())
    }

    /// The samples observed so far.
    pub fn samples(&self) -> &IntervalSet {
        &self.samples
    }

    /// The metrics of what was observed so far.
    pub fn finish(&self) -> Metrics {
        let kind = self.spec.evaluator;
        let values = [
            (kind.metric(), Proportion { hits: self.correct, total: self.scored }),
            (ACC_NORM, Proportion { hits: self.correct_normalised, total: self.normalised }),
        ];
        Metrics {
            values: values.into_iter().filter_map(|(name, share)| Metric::percent(name, kind, share)).collect(),
            counts: Counts { scored: self.scored, failed: self.failed, ties: self.ties },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::evaluator::EvaluatorKind;
    use proptest::prelude::*;
    use serde_json::json;

    fn folded(pairs: &[(Sample, SampleResult)]) -> Accumulator {
        let mut accumulator = Accumulator::new(&acc());
        for (sample, result) in pairs {
            assert!(accumulator.observe(sample, result));
        }
        accumulator
    }

    fn of_40(right: u32, spec: &EvalSpec) -> Metrics {
        let mut accumulator = Accumulator::new(spec);
        for index in 0..40 {
            let text = if index < right { "X" } else { "Y" };
            accumulator.observe(&generate(index, json!(["X"])), &generated(index, text));
        }
        accumulator.finish()
    }

    #[test]
    fn numbers_as_the_peer_prints_them() {
        let mut spec = acc();
        spec.evaluator = EvaluatorKind::Em;
        let metrics = of_40(22, &spec);
        assert_eq!((metrics.values[0].name.as_str(), metrics.values[0].value), ("score", 55.00000000000001));
        spec.evaluator = EvaluatorKind::Gsm8k;
        assert_eq!(
            Metric::percent("accuracy", spec.evaluator, Proportion { hits: 22, total: 40 }).unwrap().value,
            55.0
        );
    }

    #[test]
    fn nothing_scored_withholds_the_metric() {
        let mut accumulator = Accumulator::new(&acc());
        assert_eq!(accumulator.finish(), Metrics::default());
        accumulator.observe(&generate(0, json!("A")), &failed(0, "poison"));
        let metrics = accumulator.finish();
        assert!(metrics.values.is_empty());
        assert_eq!(metrics.counts, Counts { scored: 0, failed: 1, ties: 0 });
    }

    #[test]
    fn a_sample_counts_once() {
        let mut accumulator = folded(&[(generate(3, json!("A")), generated(3, "A"))]);
        assert!(!accumulator.observe(&generate(3, json!("A")), &generated(3, "B")));
        let before = accumulator.clone();
        assert_eq!(accumulator.merge(&before), Err(MergeError::Overlap { samples: 1 }));
        assert_eq!(accumulator, before);
        let mut spec = acc();
        spec.evaluator = EvaluatorKind::Em;
        assert_eq!(accumulator.merge(&Accumulator::new(&spec)), Err(MergeError::DifferentSpec));
        assert_eq!(accumulator.finish().values[0].value, 100.0);
    }

    #[test]
    fn state_travels() {
        let whole = folded(&[(loglikelihood(1, json!(0), &["a", "bc"]), loglikelihood_result(1, &[-1.0, -1.0]))]);
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<Accumulator>(&text).unwrap(), whole);
    }

    prop_compose! {
        /// Scores from a small set, so that ties, non-finite values and failures are frequent.
        fn observation()(kind in 0..4, gold in 0..3, scores in proptest::collection::vec(
            proptest::sample::select(vec![-1.0, -2.0, -2.5, f64::NAN, f64::NEG_INFINITY]), 3)) -> (i32, i32, Vec<f64>) {
            (kind, gold, scores)
        }
    }

    fn pair(index: u32, (kind, gold, scores): &(i32, i32, Vec<f64>)) -> (Sample, SampleResult) {
        match kind {
            0 => (generate(index, json!("A")), failed(index, "poison")),
            1 => {
                let scores: Vec<_> = scores.iter().map(|score| (-score, 2)).collect();
                (ppl(index, json!(gold), &[json!(0), json!(1), json!(2)]), ppl_result(index, &scores))
            }
            _ => (loglikelihood(index, json!(gold), &["a", "bcd", "éf"]), loglikelihood_result(index, scores)),
        }
    }

    proptest! {
        #[test]
        fn any_split_in_any_order_is_one_fold(
            observations in proptest::collection::vec(observation(), 0..40),
            shards in proptest::collection::vec(0usize..5, 40),
            order in Just((0..40usize).collect::<Vec<_>>()).prop_shuffle(),
            merges in Just((0..5usize).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let pairs: Vec<_> = observations.iter().enumerate().map(|(at, seen)| pair(at as u32, seen)).collect();
            let whole = folded(&pairs);
            let mut parts = vec![Accumulator::new(&acc()); 5];
            for at in order.into_iter().filter(|&at| at < pairs.len()) {
                parts[shards[at]].observe(&pairs[at].0, &pairs[at].1);
            }
            // left to right in a random order
            let mut left = Accumulator::new(&acc());
            for &at in &merges {
                left.merge(&parts[at]).unwrap();
            }
            // and grouped the other way round
            let mut right = parts[merges[4]].clone();
            for &at in merges[..4].iter().rev() {
                let mut outer = parts[at].clone();
                outer.merge(&right).unwrap();
                right = outer;
            }
            prop_assert_eq!(&left, &whole);
            prop_assert_eq!(&right, &whole);
            let metrics = whole.finish();
            prop_assert_eq!(metrics.counts.scored + metrics.counts.failed, pairs.len() as u64);
            prop_assert!(metrics.values.iter().all(|metric| metric.value.is_finite()));
            prop_assert_eq!(metrics.values.is_empty(), metrics.counts.scored == 0);
        }
    }
}
