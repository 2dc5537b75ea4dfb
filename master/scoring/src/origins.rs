//! Which worker each recorded sample came from, and how many reports can be compared, for `logs/run.json`: read back from the
//! ledger, which knows it for good.

use super::divergence::Divergence;
use super::score::{Answers, is_compared};
use compass_ledger::{Kind, LedgerEntry};
use compass_plan::Plan;
use compass_progress::{Diverged, RunFacts};
use compass_types::ids::{UnitId, WorkerId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;

/// Notes in `facts`, by model and data set, which samples came again with another result; returns how many.
pub fn note_divergences(facts: &mut RunFacts, plan: &Plan, answers: &Answers) -> usize {
    let mut count = 0;
    for Divergence { unit, sample, recorded, differs } in answers.diverged().cloned() {
        let name = plan.unit(unit).map_or_else(|| format!("unit {unit}"), |unit| unit.name());
        facts.diverged.entry(name).or_default().push(Diverged { sample, recorded, differs });
        count += 1;
    }
    count
}

/// Where results come from, while a ledger is read.
#[derive(Debug, Default)]
pub struct Origins {
    reports: u64,
    not_compared: u64,
    /// Samples by worker and unit.
    samples: BTreeMap<String, BTreeMap<u32, Vec<u32>>>,
}

impl Origins {
    /// Takes the next entry.
    pub fn take(&mut self, entry: &LedgerEntry) {
        match entry.kind() {
            Kind::Report => {
                if let Some(report) = entry.report() {
                    self.reports += 1;
                    self.not_compared += u64::from(!is_compared(&report));
                }
            }
            Kind::Sample => {
                let Some(mark) = entry.mark() else { return };
                let of_worker = match self.samples.get_mut(&entry.worker) {
                    Some(known) => known,
                    None => self.samples.entry(entry.worker.clone()).or_default(),
                };
                of_worker.entry(entry.unit).or_default().push(mark.index);
            }
            _ => {}
        }
    }

    /// Notes in `facts`, worker by worker, the samples whose results counted, and the reports.
    pub fn note(self, facts: &mut RunFacts, plan: &Plan) {
        (facts.reports, facts.reports_not_compared) = (self.reports, self.not_compared);
        for (worker, units) in self.samples {
            let worker = WorkerId(worker);
            for (unit, mut indices) in units {
                let Some(unit) = plan.unit(UnitId(unit)) else { continue };
                indices.sort_unstable();
                let runs = IntervalSet::from_pairs(indices.into_iter().map(|index| (index, index + 1)));
                let runs =
                    runs.pairs().iter().map(|(first, end)| format!("{first}..{end}")).collect::<Vec<_>>().join(",");
                let name = format!("{}/{}", unit.model.abbr, unit.dataset.abbr);
                facts.ran(&worker, name, runs);
            }
        }
    }
}
