//! `size`: OpenCompass's `SizePartitioner`, tasks of bounded cost.
//!
//! Two defects of the original are not here: its cache of sizes by name, and the division by zero where one sample costs
//! more than a task may (such a sample gets a task of its own). What is cut counts as a full task, part by part, as there:
//! tests hold the tasks to those of OpenCompass 0.5.4.

use super::factor::factor;
use super::pieces::runs;
use super::{PartitionStrategy, TaskSpec, UnitSize};
use compass_types::ids::UnitId;
use compass_types::intervals::IntervalSet;
use std::cmp::Reverse;

struct Chunk {
    cost: u64,
    id: UnitId,
    set: IntervalSet,
}

/// Tasks of one model's units.
pub(super) fn cut(
    units: &[&UnitSize],
    max_task_size: u64,
    gen_task_coef: u64,
    strategy: PartitionStrategy,
) -> Vec<TaskSpec> {
    let mut chunks: Vec<Chunk> = Vec::new();
    let cost = |unit: &UnitSize| factor(unit, gen_task_coef).saturating_mul(u64::from(unit.remaining.len()));
    let mut units = units.to_vec();
    // Stable: what costs the same stays in the order of the configuration.
    units.sort_by_key(|unit| Reverse(cost(unit)));
    for unit in units {
        let whole = cost(unit);
        let step = step(unit.remaining.len(), factor(unit, gen_task_coef), max_task_size);
        let parts = runs(&unit.remaining, step).into_iter();
        chunks.extend(parts.map(|set| Chunk { cost: whole.min(max_task_size), id: unit.id, set }));
    }
    chunks.sort_by_key(|chunk| Reverse(chunk.cost));
    match strategy {
        PartitionStrategy::Split => {
            chunks.into_iter().map(|chunk| TaskSpec { pieces: vec![(chunk.id, chunk.set)] }).collect()
        }
        PartitionStrategy::Heuristic => pack(&chunks, max_task_size),
    }
}

/// Positions per chunk: the largest that `max_task_size` allows, then evened out over as many chunks.
fn step(size: u32, factor: u64, max_task_size: u64) -> u32 {
    let most = u32::try_from(max_task_size / factor).unwrap_or(u32::MAX).max(1);
    let parts = size.div_ceil(most).max(1);
    size.div_ceil(parts).max(1)
}

/// Takes chunks in order and closes a task where the next one would not fit.
fn pack(chunks: &[Chunk], max_task_size: u64) -> Vec<TaskSpec> {
    let mut tasks: Vec<TaskSpec> = Vec::new();
    let mut cost = 0u64;
    for chunk in chunks {
        match tasks.last_mut() {
            Some(task) if cost.saturating_add(chunk.cost) <= max_task_size => {
                task.add(chunk.id, &chunk.set);
                cost += chunk.cost;
            }
            _ => {
                tasks.push(TaskSpec { pieces: vec![(chunk.id, chunk.set.clone())] });
                cost = chunk.cost;
            }
        }
    }
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(id: u32, abbr: &str, samples: u32, labels: Option<u32>) -> UnitSize {
        UnitSize {
            id: UnitId(id),
            model: 0,
            abbr: abbr.into(),
            remaining: IntervalSet::range(0, samples),
            samples,
            factor_labels: labels,
            generates: labels.is_none(),
            characters: 0,
            prefix_runs: Vec::new(),
        }
    }

    fn lengths(unit: &UnitSize, max_task_size: u64) -> Vec<u64> {
        let tasks = cut(&[unit], max_task_size, 20, PartitionStrategy::Heuristic);
        tasks.iter().map(TaskSpec::samples).collect()
    }

    #[test]
    fn opencompass_worked_examples() {
        let siqa = unit(0, "siqa", 1954, None);
        let gsm8k = unit(1, "gsm8k", 1319, None);
        let hellaswag = unit(2, "hellaswag", 10042, Some(4));
        let at_2000 = lengths(&siqa, 2000);
        assert_eq!((at_2000.len(), at_2000[0], at_2000[19]), (20, 98, 92));
        let at_2000 = lengths(&gsm8k, 2000);
        assert_eq!((at_2000.len(), at_2000[0], at_2000[131]), (132, 10, 9));
        assert_eq!(lengths(&hellaswag, 2000).len(), 21);
        assert_eq!(lengths(&siqa, 40000), [1954]);
        assert_eq!(lengths(&gsm8k, 40000), [189, 189, 189, 189, 189, 189, 185]);
        assert_eq!(lengths(&hellaswag, 40000), [5021, 5021]);
    }

    #[test]
    fn small_units_share_a_task_and_large_samples_get_one_each() {
        let small: Vec<UnitSize> = (0..5).map(|id| unit(id, "mmlu", 100, Some(4))).collect();
        let small: Vec<&UnitSize> = small.iter().collect();
        let pieces =
            |strategy| -> Vec<usize> { cut(&small, 1000, 20, strategy).iter().map(|task| task.pieces.len()).collect() };
        assert_eq!(pieces(PartitionStrategy::Heuristic), [2, 2, 1]);
        assert_eq!(pieces(PartitionStrategy::Split), [1; 5]);
        assert_eq!(lengths(&unit(0, "gsm8k", 3, None), 100), [1, 1, 1]);
    }
}
