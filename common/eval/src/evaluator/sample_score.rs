//! The score on one sample: what was predicted, whether it is right, and what it gives to each metric.

use super::metric_contribution::{Aggregation, MetricContribution, SampleValue};
use super::scored_answer::AnswerScore;
use serde_json::{Map, Value};

/// Score of a sample that could be scored.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleScore {
    /// The label of the winning option, with the type that the plan gave it, or the generated text; of several texts a
    /// list; null where nothing is predicted.
    pub prediction: Value,
    /// The prediction after the postprocessors: what was compared. Of several texts a list.
    pub processed: Value,
    /// The accepted answers as texts after the postprocessors.
    pub answers: Vec<String>,
    /// Set if another option had exactly the winning score; the first one won.
    pub tie: bool,
    /// Correctness of each processed prediction, one by one; empty where right and wrong do not exist.
    pub correct: Vec<bool>,
    /// Set if the postprocessors found no answer in the gold one: nothing equals it.
    pub gold_unread: bool,
    /// Set if an empty answer is right, though the gold one is not empty.
    pub empty_right: bool,
    /// Contributions of the sample to each metric.
    pub contributions: Vec<MetricContribution>,
    /// In place of what [`crate::report`] shows of a sample: the keys of the peer's evaluator that runs programs.
    pub details: Option<Map<String, Value>>,
}

/// The contributions of every answer to a question, and of how many are right; `rivals` are the votes of each class of wrong ones,
/// where answers vote. Replicas count from 1, so that a line of a single answer is not taken for the first of several.
pub(super) fn replicas(
    scores: Vec<AnswerScore>,
    correct: &[bool],
    rivals: Option<Vec<u64>>,
    k: &[u32],
) -> Vec<MetricContribution> {
    let of = |(at, score): (usize, AnswerScore)| {
        score
            .contributions
            .into_iter()
            .map(move |contribution| MetricContribution { replica: at as u16 + 1, ..contribution })
    };
    let mut contributions: Vec<MetricContribution> = scores.into_iter().enumerate().flat_map(of).collect();
    if !correct.is_empty() {
        let right = correct.iter().filter(|correct| **correct).count() as u64;
        let mut counts = vec![right, correct.len() as u64];
        if let Some(rivals) = rivals {
            let votes = right + rivals.iter().sum::<u64>();
            counts.push((correct.len() as u64).saturating_sub(votes));
            counts.extend(rivals);
        }
        let item = SampleValue::Counts(counts);
        let rule = Aggregation::Replicas { k: if k.is_empty() { vec![1] } else { k.to_vec() } };
        contributions.push(MetricContribution { replica: 0, rank: u16::MAX, name: "replicas".into(), rule, item });
    }
    contributions
}

pub(super) fn one_or_list(mut values: Vec<Value>) -> Value {
    if values.len() == 1 { values.remove(0) } else { Value::Array(values) }
}
