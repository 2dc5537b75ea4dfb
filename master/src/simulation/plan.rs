//! The job of a history: its digest, the keys under which the store knows it, and what its samples' results are.

use super::scenario::Scenario;
use crate::core::{Duplicates, Recorded, Requires, TaskView};
use crate::pipeline::former::task;
use crate::rpc::UnitTerms;
use crate::store::Keys;
use compass_common::ids::{Attempt, Digest, UnitId};
use compass_common::intervals::IntervalSet;
use compass_common::plan::ResultShape;
use compass_common::result::SampleResult;
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

/// What is known of the units.
pub(super) fn units(scenario: &Scenario) -> BTreeMap<UnitId, UnitTerms> {
    let unit = |(at, &samples): (usize, &u32)| {
        (UnitId(at as u32), UnitTerms { name: format!("m/d{at}"), shape: ResultShape::ppl(samples, 1) })
    };
    scenario.units.iter().enumerate().map(unit).collect()
}

/// What a broken worker makes of a sample, in one of so many ways.
pub(super) const GARBLES: u64 = 4;

/// A result of a sample that does not fit the plan.
pub(super) fn garbled(scenario: &Scenario, (unit, index): (u32, u32), way: u64) -> v1::SampleResult {
    use v1::sample_result::Outcome;
    let fitting = result(scenario, (unit, index), 0);
    let ppl = |nll_sum: Vec<f64>, tokens: Vec<u32>| v1::PplScores { nll_sum, tokens, ..Default::default() };
    let outcome = match way % GARBLES {
        0 => Some(Outcome::Rolling(v1::RollingScore { sum: -1.0, tokens: 1 })),
        1 => Some(Outcome::Ppl(ppl(vec![], vec![]))),
        2 => Some(Outcome::Ppl(ppl(vec![f64::NAN], vec![1]))),
        // Not even a result.
        _ => Some(Outcome::Ppl(ppl(vec![1.0], vec![]))),
    };
    v1::SampleResult { outcome, ..fitting }
}

/// Whether this is a result of a sample.
pub(super) fn fits(result: &v1::SampleResult) -> bool {
    let known = SampleResult::try_from(result.clone());
    known.is_ok_and(|known| ResultShape::ppl(u32::MAX, 1).misfit(known.index, &known.outcome).is_none())
}

/// What a worker makes of a sample; `by` is its number where results are unsteady, else 0.
pub(super) fn result(scenario: &Scenario, (unit, index): (u32, u32), by: u64) -> v1::SampleResult {
    let asked = scenario.asked(unit, index);
    let nll_sum = vec![f64::from(asked.0) * 1000.0 + f64::from(asked.1) + by as f64 / 16.0];
    let scores = v1::PplScores { nll_sum, tokens: vec![1], ..Default::default() };
    v1::SampleResult { index, outcome: Some(v1::sample_result::Outcome::Ppl(scores)), ..Default::default() }
}

/// The samples that are not computed, for a leader that finds so much recorded.
pub(super) fn duplicates(scenario: &Scenario, recorded: &Recorded) -> Duplicates {
    let mut groups: BTreeMap<(u32, u32), Vec<(UnitId, u32)>> = BTreeMap::new();
    for (unit, &samples) in (0..).zip(&scenario.units) {
        for index in 0..samples {
            groups.entry(scenario.asked(unit, index)).or_default().push((UnitId(unit), index));
        }
    }
    Duplicates::beside(groups.into_values(), recorded)
}

/// The tasks of a leader that finds so much recorded: runs of what is left, a model to each unit but the first two.
pub(super) fn tasks(
    scenario: &Scenario,
    (recorded, duplicates): (&Recorded, &Duplicates),
    attempts: &BTreeMap<(UnitId, u32), Attempt>,
) -> Vec<TaskView> {
    let (mut views, mut left_out) = (Vec::new(), duplicates.by_unit());
    for (at, &samples) in scenario.units.iter().enumerate() {
        let unit = UnitId(at as u32);
        let left = IntervalSet::range(0, samples).minus(&recorded.done(unit));
        let left: Vec<u32> = left.minus(&left_out.remove(&unit).unwrap_or_default()).iter().collect();
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
