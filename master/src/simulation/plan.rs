//! The job of a history: its digest, the keys under which the store knows it, and what its samples' results are.

use super::scenario::Scenario;
use crate::core::{Recorded, Requires, TaskView};
use crate::pipeline::former::task;
use crate::store::Keys;
use compass_common::ids::{Attempt, Digest, UnitId};
use compass_common::intervals::IntervalSet;
use compass_proto::v1;
use std::collections::BTreeMap;

/// Identity of every simulated job.
pub(super) fn digest() -> Digest {
    Digest::of(b"simulated plan")
}

/// The keys of the job.
pub(super) fn keys() -> Keys {
    Keys::new(&digest())
}

/// What a worker makes of a sample; `by` is its number where results are unsteady, else 0.
pub(super) fn result(unit: u32, index: u32, by: u64) -> v1::SampleResult {
    let nll_sum = vec![f64::from(unit) * 1000.0 + f64::from(index) + by as f64 / 16.0];
    let scores = v1::PplScores { nll_sum, tokens: vec![1], ..Default::default() };
    v1::SampleResult { index, outcome: Some(v1::sample_result::Outcome::Ppl(scores)), ..Default::default() }
}

/// The tasks of a leader that finds so much recorded: runs of what is left, a model to each unit but the first two.
pub(super) fn tasks(
    scenario: &Scenario,
    recorded: &Recorded,
    attempts: &BTreeMap<(UnitId, u32), Attempt>,
) -> Vec<TaskView> {
    let mut views = Vec::new();
    for (at, &samples) in scenario.units.iter().enumerate() {
        let unit = UnitId(at as u32);
        let left: Vec<u32> = IntervalSet::range(0, samples).minus(&recorded.done(unit)).iter().collect();
        for run in left.chunks(scenario.task_samples.max(1) as usize) {
            let samples = IntervalSet::from_indices(run.iter().copied());
            let attempt = attempts.get(&task(unit, &samples)).copied().unwrap_or_default();
            let model = (at as u32).saturating_sub(1);
            views.push(TaskView {
                unit,
                model,
                requires: Requires::Echo,
                samples,
                attempt,
                sample_cost: 1,
                shared_cost: 0,
            });
        }
    }
    views
}
