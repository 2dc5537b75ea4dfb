//! What stands in a results document beside the metrics: every verdict, and the samples that something happened to.

use crate::evaluator::judge;
use crate::plan::{EvalSpec, Sample};
use crate::result::{Outcome, SampleResult};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Findings of one model on one data set, ordered by sample whatever the order of observation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    verdicts: BTreeMap<u32, Value>,
    failed: BTreeMap<u32, String>,
    too_long: Vec<u32>,
    fewer_shots: Vec<u32>,
}

impl Findings {
    /// Takes note of one sample; the caller hands each one once.
    pub fn observe(&mut self, sample: &Sample, result: &SampleResult, spec: &EvalSpec) {
        let index = sample.index;
        match judge(sample, result, spec) {
            Ok(verdict) => {
                let references = match verdict.answers.as_slice() {
                    [only] => json!(only),
                    several => json!(several),
                };
                let mut line = json!({
                    "predictions": verdict.processed,
                    "references": references,
                    "correct": verdict.correct,
                });
                if let Some(correct) = verdict.correct_normalised {
                    line["correct_norm"] = json!(correct);
                }
                self.verdicts.insert(index, line);
            }
            Err(unscored) => {
                self.failed.insert(index, unscored.to_string());
            }
        }
        let fitted = !matches!(result.outcome, Outcome::Failed { .. }) || result.fit.tokens > 0;
        if result.fit.truncated_from > 0 {
            note(&mut self.too_long, index);
        }
        if fitted && (result.fit.shots_kept as usize) < sample.shots.len() {
            note(&mut self.fewer_shots, index);
        }
    }

    /// Samples without a score and why, by index.
    pub fn failed(&self) -> &BTreeMap<u32, String> {
        &self.failed
    }

    /// Appends what was found to `document`, each key only when there is something: too_long and fewer_shots (indices),
    /// failed_samples (index to reason), details.
    ///
    /// `details` has OpenCompass's form: "type", then per index predictions and references (as postprocessed texts) and
    /// correct; ours is correct_norm, the verdict of `acc_norm`.
    pub(super) fn append(&self, document: &mut Map<String, Value>, mode: &str) {
        if !self.too_long.is_empty() {
            document.insert("too_long".into(), json!(self.too_long));
        }
        if !self.fewer_shots.is_empty() {
            document.insert("fewer_shots".into(), json!(self.fewer_shots));
        }
        if !self.failed.is_empty() {
            let failed = self.failed.iter().map(|(index, reason)| (index.to_string(), json!(reason)));
            document.insert("failed_samples".into(), Value::Object(failed.collect()));
        }
        if !self.verdicts.is_empty() {
            let mut details = Map::from_iter([("type".to_string(), json!(mode.to_uppercase()))]);
            details.extend(self.verdicts.iter().map(|(index, line)| (index.to_string(), line.clone())));
            document.insert("details".into(), Value::Object(details));
        }
    }
}

/// Keeps `indices` sorted; they arrive in order as a rule.
fn note(indices: &mut Vec<u32>, index: u32) {
    let at = indices.partition_point(|&other| other < index);
    indices.insert(at, index);
}
