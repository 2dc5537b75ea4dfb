//! Samples that are recorded with the result of another, whose request equals theirs: an engine computes it once for all.
//!
//! Invariant: the first sample of a group that has no record is its original, and it alone is in a task. Its result is recorded for the
//! duplicates first and for itself last, so that wherever a ledger ends, an original with a record has no duplicate without.

use super::recorded::Recorded;
use super::task_table::TaskTable;
use compass_types::ids::UnitId;
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;

/// A sample: its unit and its index.
pub(super) type SampleKey = (UnitId, u32);

/// The samples that are not computed, each with its original.
#[derive(Clone, Debug, Default)]
pub struct Duplicates {
    /// Original and duplicate, ascending.
    pairs: Vec<(SampleKey, SampleKey)>,
    /// Number of duplicates of each unit that this leader recorded with the results of their originals.
    pub(super) recorded: BTreeMap<UnitId, u64>,
}

impl Duplicates {
    /// The duplicates of groups of equal requests, without the samples that have a record.
    pub fn new(groups: impl IntoIterator<Item = Vec<SampleKey>>, is_recorded: impl Fn(SampleKey) -> bool) -> Self {
        let mut pairs = Vec::new();
        for group in groups {
            let mut open = group.into_iter().filter(|sample| !is_recorded(*sample));
            if let Some(original) = open.next() {
                pairs.extend(open.map(|duplicate| (original, duplicate)));
            }
        }
        pairs.sort_unstable();
        Self { pairs, recorded: BTreeMap::new() }
    }

    /// As [`Duplicates::new`], beside what a ledger holds.
    pub fn beside(groups: impl IntoIterator<Item = Vec<SampleKey>>, recorded: &Recorded) -> Self {
        Self::new(groups, |(unit, index)| recorded.contains(unit, index))
    }

    /// The duplicates of one sample.
    pub fn of(&self, original: SampleKey) -> impl Iterator<Item = SampleKey> + '_ {
        let first = self.pairs.partition_point(|(known, _)| *known < original);
        let of_it = self.pairs.get(first..).unwrap_or_default().iter().take_while(move |(known, _)| *known == original);
        of_it.map(|(_, duplicate)| *duplicate)
    }

    /// All duplicates, by unit: what is in no task.
    pub fn by_unit(&self) -> BTreeMap<UnitId, IntervalSet> {
        let mut units: BTreeMap<UnitId, Vec<u32>> = BTreeMap::new();
        for (_, (unit, index)) in &self.pairs {
            units.entry(*unit).or_default().push(*index);
        }
        let sorted = |mut indices: Vec<u32>| {
            indices.sort_unstable();
            IntervalSet::from_indices(indices)
        };
        units.into_iter().map(|(unit, indices)| (unit, sorted(indices))).collect()
    }

    /// Returns the number of samples that are not computed.
    pub fn len(&self) -> u64 {
        self.pairs.len() as u64
    }

    /// Returns whether every sample is computed.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Reports what is wrong with the duplicates, in words, by the rule of [`super::invariants`] that it breaks.
    pub(super) fn check(&self, tasks: &TaskTable, recorded: &Recorded, fail: &mut impl FnMut(&'static str, String)) {
        use super::invariants::{C2, G1};
        for &(original, (unit, index)) in &self.pairs {
            if tasks.of_sample(unit, index).is_some() {
                fail(G1, format!("sample {index} of unit {unit} is in a task and gets the result of another"));
            }
            if recorded.contains(unit, index) != recorded.contains(original.0, original.1) {
                let text =
                    format!("sample {index} of unit {unit} and {original:?}, which it equals, are not recorded alike");
                fail(C2, text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Bench, view, worker};
    use super::super::{DeviceType, Effect, Event, FailureClass, Handed, Limits, Record};
    use super::*;

    /// Two tasks of two samples each; 5 and 6 of the first unit and 0 of another ask what 0, 2 and 0 do.
    fn bench() -> Bench {
        let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 2), view(0, 2, 4)]);
        let key = |unit, index| (UnitId(unit), index);
        let groups = [vec![key(0, 0), key(0, 5), key(1, 0)], vec![key(0, 2), key(0, 6)]];
        bench.core = bench.core.with_duplicates(Duplicates::beside(groups, &Recorded::default()));
        bench.attach(0, 0, 1);
        bench
    }

    #[test]
    fn duplicates_are_recorded_before_their_original_and_once() {
        let mut bench = bench();
        let (_, grant, unit, _) = bench.grants[0].clone();
        let result = || vec![Handed { index: 0, result: vec![7], failed: false, device: DeviceType::Cpu }];
        let results = |samples| Event::Results { worker: worker(0), grant, unit, samples };
        let effects = bench.apply(results(result()));
        let recorded = effects.iter().filter_map(|effect| match effect {
            Effect::Persist { record: Record::Sample { unit, handed, .. }, .. } => Some((unit.0, handed.index, false)),
            Effect::Persist { record: Record::Duplicate { unit, index, .. }, .. } => Some((unit.0, *index, true)),
            _ => None,
        });
        assert_eq!(recorded.collect::<Vec<_>>(), [(0, 5, true), (1, 0, true), (0, 0, false)]);
        assert!(bench.recorded.values().all(|result| *result == [7]));
        assert_eq!(bench.core.progress().recorded, 3);
        assert_eq!(*bench.core.copied_by_unit(), BTreeMap::from([(UnitId(0), 1), (UnitId(1), 1)]));
        bench.apply(results(result()));
        assert_eq!((bench.core.progress().recorded, bench.core.progress().repeats), (3, 1));
        assert_eq!(bench.core.copied_by_unit().values().sum::<u64>(), 2, "a repeated result is copied to none");
    }

    #[test]
    fn duplicates_fail_with_their_original() {
        let mut bench = bench();
        bench.work(0);
        let (_, grant, ..) = bench.grants[1].clone();
        let message = "no weights".to_owned();
        bench.apply(Event::Failed { worker: worker(0), grant, class: FailureClass::User, message });
        let failures = bench.core.failures();
        let samples = failures.iter().flat_map(|(unit, samples, _)| samples.iter().map(|index| (unit.0, index)));
        assert_eq!(samples.collect::<Vec<_>>(), [(0, 2), (0, 3), (0, 6)]);
        assert!(failures.iter().all(|(_, _, why)| why == "no weights"));
    }

    #[test]
    fn the_first_without_a_record_stands_for_its_group() {
        let key = |unit: u32, index: u32| (UnitId(unit), index);
        let groups = || [vec![key(0, 1), key(0, 3), key(2, 0)], vec![key(1, 0), key(1, 9), key(0, 2)]];
        let all = Duplicates::new(groups(), |_| false);
        assert_eq!(all.of(key(0, 1)).collect::<Vec<_>>(), [key(0, 3), key(2, 0)]);
        assert_eq!((all.of(key(0, 3)).count(), all.len()), (0, 4));
        let in_unit = |duplicates: &Duplicates, unit| duplicates.by_unit().remove(&UnitId(unit)).unwrap_or_default();
        assert_eq!(in_unit(&all, 0), IntervalSet::range(2, 4));
        // A ledger that ended between two records of a group, and one group that another evaluator answered in part.
        let recorded = [key(0, 3), key(1, 0)];
        let rest = Duplicates::new(groups(), |sample| recorded.contains(&sample));
        assert_eq!(rest.of(key(0, 1)).collect::<Vec<_>>(), [key(2, 0)]);
        assert_eq!(rest.of(key(1, 9)).collect::<Vec<_>>(), [key(0, 2)]);
        assert!(Duplicates::new(groups(), |_| true).is_empty());
    }
}
