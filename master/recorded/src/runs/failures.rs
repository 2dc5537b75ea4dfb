//! Reasons why samples of a run have no score: one class for each reason, whatever its numbers.

use super::key::Key;
use super::logs::{log_of, logs};
use super::marks::Mark;
use super::opened::OpenedRun;
use compass_eval::evaluator::judge;
use compass_scoring::ScoreError;
use serde::Serialize;
use std::collections::BTreeMap;

/// Classes at most; what is beyond counts as one.
const CLASSES: usize = 100;
const OTHERS: &str = "others";
/// Characters of a reason that name its class.
const CHARACTERS: usize = 160;

/// Samples without a score for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureClass {
    /// The reason of the first of them.
    pub reason: String,
    pub samples: u64,
    pub model: String,
    pub dataset: String,
    pub first: Key,
    /// The worker that computed the first of them, and the name of its log below `logs/`, where that is kept.
    pub worker: String,
    pub log: Option<String>,
}

/// The classes of a run, the most frequent first. Scores every sample when it is asked first.
///
/// # Errors
/// The run is damaged.
pub fn failures(run: &OpenedRun) -> Result<Vec<FailureClass>, ScoreError> {
    let logs = logs(&run.folder);
    let mut classes: BTreeMap<String, FailureClass> = BTreeMap::new();
    for unit in run.recorded.plan.units() {
        let (marks, spec) = (run.marks(unit)?, unit.eval());
        let fails = |index: u32| marks.get(index as usize).is_some_and(|marks| marks.has(Mark::Failed));
        for part in &unit.dataset.parts {
            if !(part.first..part.first + part.samples).any(fails) {
                continue;
            }
            run.recorded.part(unit, part, |_, sample, recorded| {
                let Some((Err(unscored), worker)) =
                    recorded.map(|(result, worker)| (judge(sample, result, &spec), worker))
                else {
                    return;
                };
                let key = class(&unscored.0);
                let key = if classes.len() < CLASSES || classes.contains_key(&key) { key } else { OTHERS.into() };
                let new = || FailureClass {
                    reason: if key == OTHERS { key.clone() } else { unscored.0.clone() },
                    samples: 0,
                    model: unit.model.abbr.clone(),
                    dataset: unit.dataset.abbr.clone(),
                    first: Key { unit: unit.id.0, index: sample.index },
                    worker: worker.to_owned(),
                    log: log_of(worker, &logs).map(str::to_owned),
                };
                classes.entry(key.clone()).or_insert_with(new).samples += 1;
            })?;
        }
    }
    let mut classes: Vec<FailureClass> = classes.into_values().collect();
    classes.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.reason.cmp(&b.reason)));
    Ok(classes)
}

/// A reason without its numbers.
fn class(reason: &str) -> String {
    let mut class = String::new();
    for character in reason.chars().take(CHARACTERS) {
        match character {
            '0'..='9' if class.ends_with('#') => {}
            '0'..='9' => class.push('#'),
            other => class.push(other),
        }
    }
    class
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_make_no_class_of_their_own() {
        assert_eq!(class("the prompt has 8191 tokens, of 512"), class("the prompt has 77 tokens, of 1024"));
        assert_ne!(class("the engine died"), class("the engine hung"));
    }
}
