//! The function that calls the partitioner of the configuration.
//!
//! Invariant, whatever the kind and the settings: every remaining sample is in exactly one task, no task is empty, and
//! no task mixes models. Sizes come from the units themselves, never from a cache keyed by name (OpenCompass's
//! `.cache/dataset_size.json` lost samples that way: its issues 1987 and 1579).

use super::{PartitionError, PartitionerKind, TaskSpec, UnitSize, balanced, naive, num_worker, size};
use std::collections::BTreeSet;

/// Cuts what remains into tasks, in the order in which to lease them.
///
/// `workers` is the number of replica slots; only `balanced` looks at it, and takes 0 for 1.
///
/// # Errors
/// A setting of 0, a unit given twice, a sample beyond its data set.
pub fn partition(kind: &PartitionerKind, units: &[UnitSize], workers: u32) -> Result<Vec<TaskSpec>, PartitionError> {
    check(units)?;
    match kind {
        PartitionerKind::Naive => Ok(naive::cut(units)),
        PartitionerKind::Size { max_task_size, gen_task_coef, strategy } => {
            positive(*max_task_size > 0, "max_task_size")?;
            positive(*gen_task_coef > 0, "gen_task_coef")?;
            Ok(by_model(units).flat_map(|group| size::cut(&group, *max_task_size, *gen_task_coef, *strategy)).collect())
        }
        PartitionerKind::NumWorker { num_worker, num_split, min_task_size, strategy } => {
            positive(*num_worker > 0, "num_worker")?;
            let split = num_split.unwrap_or(*num_worker);
            Ok(by_model(units)
                .flat_map(|group| num_worker::cut(&group, *num_worker, split, *min_task_size, *strategy))
                .collect())
        }
        PartitionerKind::Balanced => {
            let groups: Vec<_> = by_model(units).collect();
            Ok(balanced::cut(&groups, workers.max(1)))
        }
    }
}

fn positive(holds: bool, setting: &'static str) -> Result<(), PartitionError> {
    if holds { Ok(()) } else { Err(PartitionError::Zero(setting)) }
}

fn check(units: &[UnitSize]) -> Result<(), PartitionError> {
    let mut seen = BTreeSet::new();
    for unit in units {
        if !seen.insert(unit.id) {
            return Err(PartitionError::Twice(unit.id));
        }
        if let Some(&(_, end)) = unit.remaining.pairs().last()
            && end > unit.samples
        {
            return Err(PartitionError::BeyondEnd { unit: unit.id, sample: end - 1, samples: unit.samples });
        }
    }
    Ok(())
}

/// Units with something left, grouped by model, models in ascending order, units as given.
fn by_model(units: &[UnitSize]) -> impl Iterator<Item = Vec<&UnitSize>> {
    let models: BTreeSet<usize> = units.iter().map(|unit| unit.model).collect();
    models
        .into_iter()
        .map(|model| units.iter().filter(|unit| unit.model == model && !unit.remaining.is_empty()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::PartitionStrategy;
    use crate::prompt::PrefixRun;
    use compass_types::ids::UnitId;
    use compass_types::intervals::IntervalSet;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn strategy() -> impl Strategy<Value = PartitionStrategy> {
        prop_oneof![Just(PartitionStrategy::Heuristic), Just(PartitionStrategy::Split)]
    }

    fn kind() -> impl Strategy<Value = PartitionerKind> {
        prop_oneof![
            Just(PartitionerKind::Naive),
            Just(PartitionerKind::Balanced),
            (1u64..5000, 1u64..40, strategy()).prop_map(|(max_task_size, gen_task_coef, strategy)| {
                PartitionerKind::Size { max_task_size, gen_task_coef, strategy }
            }),
            (1u32..20, proptest::option::of(0u32..30), 0u32..40, strategy()).prop_map(
                |(num_worker, num_split, min_task_size, strategy)| PartitionerKind::NumWorker {
                    num_worker,
                    num_split,
                    min_task_size,
                    strategy
                }
            ),
        ]
    }

    fn unit() -> impl Strategy<Value = UnitSize> {
        let family = prop_oneof![Just("gsm8k"), Just("piqa"), Just("mmlu_professional_law")];
        let holes = proptest::collection::vec((0u32..500, 0u32..60), 0..6);
        let runs = proptest::collection::vec((1u32..200, 0u64..20_000), 0..5);
        let labels = proptest::option::of(0u32..6);
        (0usize..3, family, 0u32..500, holes, labels, any::<bool>(), 0u64..2_000_000, runs).prop_map(
            |(model, abbr, samples, holes, factor_labels, generates, characters, runs)| {
                let done = IntervalSet::from_pairs(holes.into_iter().map(|(at, run)| (at, at + run)));
                let remaining = IntervalSet::range(0, samples).minus(&done);
                let id = UnitId(0);
                let abbr = abbr.into();
                let ends = runs.into_iter().scan(0, |end, (length, characters)| {
                    *end += length;
                    Some(PrefixRun { end: *end, characters })
                });
                let prefix_runs = ends.collect();
                UnitSize { id, model, abbr, remaining, samples, factor_labels, generates, characters, prefix_runs }
            },
        )
    }

    proptest! {
        #[test]
        fn every_remaining_sample_is_in_exactly_one_task(kind in kind(), workers in 0u32..40,
                                                         mut units in proptest::collection::vec(unit(), 0..8)) {
            for (id, unit) in units.iter_mut().enumerate() {
                unit.id = UnitId(id as u32);
            }
            let tasks = partition(&kind, &units, workers).unwrap();
            let models: BTreeMap<_, _> = units.iter().map(|unit| (unit.id, unit.model)).collect();
            let mut seen: BTreeMap<UnitId, Vec<u32>> = BTreeMap::new();
            for task in &tasks {
                prop_assert!(!task.pieces.is_empty());
                let mut in_task = BTreeSet::new();
                for (id, set) in &task.pieces {
                    prop_assert!(!set.is_empty());
                    prop_assert!(in_task.insert(*id), "a unit stands once in a task");
                    prop_assert_eq!(models[id], models[&task.pieces[0].0]);
                    seen.entry(*id).or_default().extend(set.iter());
                }
            }
            for unit in &units {
                let mut indices = seen.remove(&unit.id).unwrap_or_default();
                indices.sort_unstable();
                prop_assert_eq!(indices, unit.remaining.iter().collect::<Vec<_>>());
            }
            prop_assert!(seen.is_empty());
        }
    }

    #[test]
    fn what_cannot_be_cut_is_refused() {
        let unit = UnitSize {
            id: UnitId(3),
            model: 0,
            abbr: "a".into(),
            remaining: IntervalSet::range(0, 5),
            samples: 4,
            factor_labels: None,
            generates: false,
            characters: 1,
            prefix_runs: Vec::new(),
        };
        let beyond = partition(&PartitionerKind::Naive, std::slice::from_ref(&unit), 1);
        assert_eq!(beyond, Err(PartitionError::BeyondEnd { unit: UnitId(3), sample: 4, samples: 4 }));
        let fits = UnitSize { samples: 5, ..unit };
        let twice = partition(&PartitionerKind::Naive, &[fits.clone(), fits], 1);
        assert_eq!(twice, Err(PartitionError::Twice(UnitId(3))));
        let strategy = PartitionStrategy::Split;
        let zero = PartitionerKind::Size { max_task_size: 0, gen_task_coef: 1, strategy };
        assert_eq!(partition(&zero, &[], 1), Err(PartitionError::Zero("max_task_size")));
    }
}
