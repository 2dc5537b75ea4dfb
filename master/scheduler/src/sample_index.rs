//! Index from samples to their tasks.

use compass_types::ids::{TaskId, UnitId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;
use std::ops::Range;

/// unit -> first index -> (end, task): disjoint runs of samples.
#[derive(Clone, Debug, Default)]
pub(super) struct SampleIndex(BTreeMap<UnitId, BTreeMap<u32, (u32, TaskId)>>);

impl SampleIndex {
    /// The task that a sample belongs to.
    pub(super) fn of(&self, unit: UnitId, index: u32) -> Option<TaskId> {
        self.run_of(unit, index).map(|(_, task)| task)
    }

    /// The task that a sample belongs to, with the run of samples around it that belong to the same one.
    pub(super) fn run_of(&self, unit: UnitId, index: u32) -> Option<(Range<u32>, TaskId)> {
        let (&first, &(end, task)) = self.0.get(&unit)?.range(..=index).next_back()?;
        (index < end).then_some((first..end, task))
    }

    /// Moves samples to a task, wherever they were.
    pub(super) fn assign(&mut self, unit: UnitId, samples: &IntervalSet, task: TaskId) {
        let runs = self.0.entry(unit).or_default();
        for &(first, end) in samples.pairs() {
            let before = runs.range(..first).next_back().map(|(&from, &(to, owner))| (from, to, owner));
            if let Some((from, to, owner)) = before.filter(|&(_, to, _)| to > first) {
                runs.insert(from, (first, owner));
                if to > end {
                    runs.insert(end, (to, owner));
                }
            }
            let within: Vec<_> = runs.range(first..end).map(|(&from, &(to, owner))| (from, to, owner)).collect();
            for (from, to, owner) in within {
                runs.remove(&from);
                if to > end {
                    runs.insert(end, (to, owner));
                }
            }
            runs.insert(first, (end, task));
        }
    }

    /// The tasks that share samples with a set, each once, ascending.
    pub(super) fn touched(&self, unit: UnitId, samples: &IntervalSet) -> Vec<TaskId> {
        let Some(runs) = self.0.get(&unit) else { return Vec::new() };
        let mut tasks = Vec::new();
        for &(first, end) in samples.pairs() {
            let begun = runs.range(..first).next_back().filter(|(_, (to, _))| *to > first);
            tasks.extend(begun.into_iter().chain(runs.range(first..end)).map(|(_, &(_, task))| task));
        }
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_last_assignment_of_a_sample_counts(steps in proptest::collection::vec((0u32..40, 1u32..15, 0u32..5), 1..30)) {
            let (mut all, mut model) = (SampleIndex::default(), BTreeMap::new());
            for (first, length, task) in steps {
                let samples = IntervalSet::range(first, first + length);
                all.assign(UnitId(1), &samples, TaskId(task));
                model.extend(samples.iter().map(|index| (index, TaskId(task))));
            }
            for index in 0..60 {
                prop_assert_eq!(all.of(UnitId(1), index), model.get(&index).copied());
            }
            let mut touched: Vec<_> = model.range(10..20).map(|(_, &task)| task).collect();
            touched.sort_unstable();
            touched.dedup();
            prop_assert_eq!(all.touched(UnitId(1), &IntervalSet::range(10, 20)), touched);
            prop_assert_eq!(all.of(UnitId(0), 3), None);
        }
    }
}
