//! The result of an original, recorded for its duplicates too; a failure, told of them too.

use super::duplicates::Duplicates;
use super::effect::{Effect, Record};
use super::event::Handed;
use super::recorded::Arrival;
use super::state::Core;
use super::worker_ids::WorkerIx;
use compass_types::ids::{GrantId, UnitId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;

impl Core {
    /// With samples that are in no task, and get the results of their originals.
    #[must_use]
    pub fn with_duplicates(self, duplicates: Duplicates) -> Self {
        Self { duplicates, ..self }
    }

    /// Returns the number of samples of each unit that this leader recorded with the result of another; no worker reports
    /// on them.
    pub fn copied_by_unit(&self) -> &BTreeMap<UnitId, u64> {
        &self.duplicates.recorded
    }

    /// Records the first result of a sample for its duplicates; its own record comes after theirs.
    pub(super) fn record_duplicates(
        &mut self,
        worker: WorkerIx,
        grant: GrantId,
        unit: UnitId,
        original: &Handed,
        effects: &mut Vec<Effect>,
    ) {
        if self.duplicates.is_empty() || self.recorded.contains(unit, original.index) {
            return;
        }
        for (unit, index) in self.duplicates.of((unit, original.index)).collect::<Vec<_>>() {
            if self.recorded.arrive(unit, index, &original.result, original.device) == Arrival::First {
                *self.duplicates.recorded.entry(unit).or_default() += 1;
                let (worker, original) = (self.workers.name(worker).clone(), original.clone());
                self.persist(Record::Duplicate { unit, index, grant, worker, original }, effects);
            }
        }
    }

    /// Samples that stay without a result, with their duplicates, by unit.
    pub(super) fn with_their_duplicates(&self, unit: UnitId, samples: &IntervalSet) -> BTreeMap<UnitId, IntervalSet> {
        let mut all = BTreeMap::from([(unit, samples.clone())]);
        if !self.duplicates.is_empty() {
            for (unit, index) in samples.iter().flat_map(|index| self.duplicates.of((unit, index))) {
                all.entry(unit).or_default().insert(index);
            }
        }
        all
    }
}
