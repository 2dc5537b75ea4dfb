//! `balanced`: contiguous pieces of even estimated cost, large first, small at the tail.
//!
//! Guided self-scheduling (Polychronopoulos and Kuck 1987) over the cost of the whole job: a piece is half of a fair share
//! of what is left, down to an eighth of a fair share of the whole, which makes about five pieces per worker; fewer where such
//! pieces would not be worth the grants that they need. Units are walked from expensive to cheap and cut only where a piece ends, because neighbours in a data set share prefixes; units too
//! small to be worth a task of their own travel together.
//!
//! Samples that begin alike stay in one piece where they are few: such a run is cut only into pieces whose own work is
//! [`WORTH`] times the beginning that each of them computes again. Where that leaves workers idle for long,
//! they take of what others have not begun.

use super::pieces::Cursor;
use super::{TaskSpec, UnitSize};
use compass_types::intervals::IntervalSet;
use std::cmp::Reverse;

/// A beginning that is computed once more costs a piece at most one part in so many of its own work.
const WORTH: u64 = 50;

/// Cost of a grant beside its samples, in characters to prefill: its way to a worker and back, and what an engine computes less
/// well in batches that are not full.
const GRANT_COST: u64 = 8_192;

/// Tasks of all models, model after model; `groups` holds one model's units each.
pub(super) fn cut(groups: &[Vec<&UnitSize>], workers: u32) -> Vec<TaskSpec> {
    let total: u64 = groups.iter().flatten().map(|unit| unit.cost()).fold(0, u64::saturating_add);
    let workers = u64::from(workers);
    // Two pieces for each worker are cut whatever they cost.
    let least = (total / (8 * workers)).max(GRANT_COST.min(total / (2 * workers))).max(1);
    let mut left = total;
    let mut tasks = Vec::new();
    for group in groups {
        let mut units = group.clone();
        units.sort_by_key(|unit| Reverse(unit.cost()));
        let open = TaskSpec { pieces: Vec::new() };
        let mut cutter = Cutter { workers, least, left, quota: 0, cost: 0, open, done: Vec::new() };
        cutter.next_quota();
        for unit in units {
            for (run, shared) in unit.runs() {
                cutter.walk(unit, &run, shared);
            }
        }
        cutter.close();
        left = cutter.left;
        // Stable, so that equal tasks stay in the order of the data.
        cutter.done.sort_by_key(|(cost, _)| Reverse(*cost));
        tasks.extend(cutter.done.into_iter().map(|(_, task)| task));
    }
    tasks
}

/// Fills one task after the other.
struct Cutter {
    workers: u64,
    /// The least cost that is worth a task.
    least: u64,
    /// Cost of all that is in no closed task.
    left: u64,
    /// Cost that the open task should have.
    quota: u64,
    /// Cost of the open task so far.
    cost: u64,
    open: TaskSpec,
    done: Vec<(u64, TaskSpec)>,
}

impl Cutter {
    fn next_quota(&mut self) {
        self.quota = (self.left / (2 * self.workers)).max(self.least);
    }

    fn close(&mut self) {
        if !self.open.pieces.is_empty() {
            let task = std::mem::replace(&mut self.open, TaskSpec { pieces: Vec::new() });
            self.done.push((self.cost, task));
        }
        self.left = self.left.saturating_sub(self.cost);
        self.cost = 0;
        self.next_quota();
    }

    /// Takes in samples of a unit whose common beginning costs `shared`.
    fn walk(&mut self, unit: &UnitSize, run: &IntervalSet, shared: u64) {
        let each = unit.sample_cost();
        let mut cursor = Cursor::new(run);
        let fewest = fewest(each, cursor.left(), shared);
        // A scrap is what is not worth cutting off.
        let scrap = self.least / 2;
        while cursor.left() > 0 {
            let rest = each.saturating_mul(u64::from(cursor.left())).saturating_add(shared);
            let room = self.quota.saturating_sub(self.cost);
            let fits = rest <= room.saturating_add(scrap);
            let worth = scrap.max(each).max(each.saturating_mul(u64::from(fewest)).saturating_add(shared));
            if !fits && !self.open.pieces.is_empty() && room < worth {
                self.close();
                continue;
            }
            let count = u32::try_from(room.saturating_sub(shared) / each).unwrap_or(u32::MAX).max(fewest);
            if fits || cursor.left() < count.saturating_add(fewest) {
                self.open.add(unit.id, &cursor.take(u32::MAX));
                self.cost = self.cost.saturating_add(rest);
                if self.cost.saturating_add(scrap) >= self.quota {
                    self.close();
                }
                continue;
            }
            self.open.add(unit.id, &cursor.take(count));
            self.cost = self.cost.saturating_add(each.saturating_mul(u64::from(count))).saturating_add(shared);
            self.close();
        }
    }
}

/// Returns the number of samples of a run of `samples` that must stay together.
fn fewest(each: u64, samples: u32, shared: u64) -> u32 {
    if shared == 0 {
        return 1;
    }
    let own = each.saturating_mul(u64::from(samples));
    let pieces = (own / shared.saturating_mul(WORTH)).max(1);
    u32::try_from(u64::from(samples) / pieces).unwrap_or(samples).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::PrefixRun;
    use compass_types::ids::UnitId;

    fn unit(id: u32, samples: u32, characters_each: u64, generates: bool) -> UnitSize {
        UnitSize {
            id: UnitId(id),
            model: 0,
            abbr: String::new(),
            remaining: IntervalSet::range(0, samples),
            samples,
            factor_labels: None,
            generates,
            characters: characters_each * u64::from(samples),
            prefix_runs: Vec::new(),
        }
    }

    #[test]
    fn one_data_set_becomes_about_five_contiguous_pieces_a_worker() {
        let unit = unit(0, 10_000, 936, false);
        for workers in [1u32, 2, 8, 32] {
            let tasks = cut(&[vec![&unit]], workers);
            let sizes: Vec<u64> = tasks.iter().map(TaskSpec::samples).collect();
            assert!((4 * workers..=6 * workers).contains(&(tasks.len() as u32)), "{workers}: {sizes:?}");
            assert!(sizes.is_sorted_by(|a, b| a >= b), "large first: {sizes:?}");
            assert!(sizes[0] <= u64::from(10_000 / workers), "no piece above a fair share: {sizes:?}");
            let least = sizes[sizes.len() - 1];
            assert!(least >= u64::from(10_000 / workers / 16), "no scraps: {sizes:?}");
            assert!(tasks.iter().all(|task| task.pieces.len() == 1 && task.pieces[0].1.pairs().len() == 1));
        }
    }

    #[test]
    fn tasks_are_no_smaller_than_what_a_grant_costs() {
        for (units, samples) in [(1, 585), (13, 45), (195, 3)] {
            let units: Vec<UnitSize> = (0..units).map(|id| unit(id, samples, 40, true)).collect();
            for workers in [1, 8, 20, 64] {
                let tasks = cut(&[units.iter().collect()], workers);
                let sizes: Vec<u64> = tasks.iter().map(TaskSpec::samples).collect();
                assert_eq!(sizes.iter().sum::<u64>(), 585);
                // A sample costs 832: ten are worth a grant, and so is half of a fair share.
                let least = 10.min(585 / (2 * u64::from(workers)));
                assert!(sizes.iter().filter(|size| **size < least / 2).count() <= 1, "{workers}: {sizes:?}");
                assert!(sizes.len() as u64 >= (585 / 20).min(u64::from(workers)), "{workers}: {sizes:?}");
            }
        }
        // Long samples are worth a task each.
        assert_eq!(cut(&[vec![&unit(0, 24, 20_000, true)]], 8).len(), 24);
    }

    #[test]
    fn small_units_travel_together_and_are_not_cut() {
        let subjects: Vec<UnitSize> = (0..57).map(|id| unit(id, 100, 2000, false)).collect();
        let tasks = cut(&[subjects.iter().collect()], 2);
        assert!((8..=14).contains(&tasks.len()), "{}", tasks.len());
        let cuts = tasks.iter().flat_map(|task| &task.pieces).filter(|(_, set)| set.len() < 100).count();
        assert!(cuts <= 2 * tasks.len(), "a task cuts at most one unit at each end");
    }

    /// The tasks in which each unit stands.
    fn spread(tasks: &[TaskSpec], units: &[UnitSize]) -> Vec<usize> {
        let holds = |task: &TaskSpec, id: UnitId| task.pieces.iter().any(|(unit, _)| *unit == id);
        units.iter().map(|unit| tasks.iter().filter(|task| holds(task, unit.id)).count()).collect()
    }

    #[test]
    fn what_begins_alike_stays_together_where_it_is_little() {
        let alike = |id, samples, characters| UnitSize {
            prefix_runs: vec![PrefixRun { end: samples, characters }],
            ..unit(id, samples, 250, false)
        };
        // Few-shot subjects: a beginning costs as much as some ten samples.
        let subjects: Vec<UnitSize> = (0..4).map(|id| alike(id, 100, 3000)).collect();
        for workers in [1, 2, 4, 8] {
            assert_eq!(spread(&cut(&[subjects.iter().collect()], workers), &subjects), [1; 4], "{workers}");
        }
        // Where its samples outweigh it by far it is cut as any other.
        let many = [alike(0, 10_000, 3000)];
        assert!(spread(&cut(&[many.iter().collect()], 2), &many)[0] >= 8);
    }

    #[test]
    fn cuts_fall_where_prefixes_change() {
        let runs = |ends: &[u32]| ends.iter().map(|&end| PrefixRun { end, characters: 3000 }).collect();
        let one = UnitSize { prefix_runs: runs(&[90, 200, 310, 400]), ..unit(0, 400, 250, false) };
        let tasks = cut(&[vec![&one]], 4);
        let mut starts: Vec<u32> = tasks.iter().map(|task| task.pieces[0].1.pairs()[0].0).collect();
        starts.sort_unstable();
        assert_eq!(starts, [0, 90, 200, 310]);
        let left = UnitSize { remaining: IntervalSet::from_pairs([(80, 100), (350, 400)]), ..one };
        let runs: Vec<_> = left.runs().iter().map(|(run, shared)| (run.pairs().to_vec(), *shared)).collect();
        assert_eq!(runs, [(vec![(80, 90)], 3000), (vec![(90, 100)], 3000), (vec![(350, 400)], 3000)]);
        assert_eq!(left.shared_cost(&IntervalSet::range(95, 96)), 3000);
        assert_eq!(unit(0, 400, 250, false).shared_cost(&IntervalSet::range(95, 96)), 0);
    }

    #[test]
    fn generation_costs_more() {
        let (scored, generated) = (unit(0, 1000, 500, false), unit(1, 1000, 500, true));
        let tasks = cut(&[vec![&scored, &generated]], 4);
        assert_eq!(tasks[0].pieces[0].0, UnitId(1), "the expensive unit goes first");
        let of_generated = tasks.iter().filter(|task| task.pieces.iter().any(|(id, _)| *id == UnitId(1))).count();
        let of_scored = tasks.iter().filter(|task| task.pieces.iter().any(|(id, _)| *id == UnitId(0))).count();
        assert!(of_generated > 3 * of_scored, "{of_generated} against {of_scored}");
    }
}
