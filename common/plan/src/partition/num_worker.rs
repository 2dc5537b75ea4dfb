//! `num_worker`: OpenCompass's `NumWorkerPartitioner`, at most so many tasks per model, so that each worker loads it once.
//!
//! Not here: the cache of sizes by name, which cut 1165 rows as if they were 296 (its issue 1987).

use super::pieces::runs;
use super::{PartitionStrategy, TaskSpec, UnitSize};

/// Tasks of one model's units. `num_split` of 0 or 1 leaves units whole.
pub(super) fn cut(
    units: &[&UnitSize],
    num_worker: u32,
    num_split: u32,
    min_task_size: u32,
    strategy: PartitionStrategy,
) -> Vec<TaskSpec> {
    let chunks = units.iter().flat_map(|unit| {
        let size = unit.remaining.len();
        let whole = num_split <= 1 || size <= min_task_size;
        let step = if whole { size } else { size.div_ceil(num_split).max(min_task_size) };
        runs(&unit.remaining, step).into_iter().map(|set| (unit.id, set))
    });
    match strategy {
        PartitionStrategy::Split => chunks.map(|chunk| TaskSpec { pieces: vec![chunk] }).collect(),
        PartitionStrategy::Heuristic => {
            let mut buckets = vec![TaskSpec { pieces: Vec::new() }; num_worker as usize];
            for (at, (id, set)) in chunks.enumerate() {
                let bucket = at % buckets.len();
                buckets[bucket].add(id, &set);
            }
            buckets.retain(|task| !task.pieces.is_empty());
            buckets
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_types::ids::UnitId;
    use compass_types::intervals::IntervalSet;

    fn unit(id: u32, samples: u32) -> UnitSize {
        UnitSize {
            id: UnitId(id),
            model: 0,
            abbr: "ARC-c".into(),
            remaining: IntervalSet::range(0, samples),
            samples,
            factor_labels: None,
            generates: true,
            characters: 0,
            prefix_runs: Vec::new(),
        }
    }

    #[test]
    fn opencompass_worked_example() {
        let arc = unit(0, 1165);
        for strategy in [PartitionStrategy::Heuristic, PartitionStrategy::Split] {
            let shards: Vec<u64> = cut(&[&arc], 8, 8, 16, strategy).iter().map(TaskSpec::samples).collect();
            assert_eq!(shards, [146, 146, 146, 146, 146, 146, 146, 143]);
        }
    }

    #[test]
    fn chunks_go_round_the_buckets() {
        let (long, short) = (unit(0, 40), unit(1, 16));
        let tasks = cut(&[&long, &short], 2, 3, 14, PartitionStrategy::Heuristic);
        let set = |first, end| IntervalSet::range(first, end);
        let first = IntervalSet::from_pairs([(0, 14), (28, 40)]);
        // 16 rows are more than the least of 14, so the short unit is cut too.
        assert_eq!(tasks[0].pieces, [(UnitId(0), first), (UnitId(1), set(14, 16))]);
        assert_eq!(tasks[1].pieces, [(UnitId(0), set(14, 28)), (UnitId(1), set(0, 14))]);
        assert_eq!(tasks.len(), 2);
    }
}
