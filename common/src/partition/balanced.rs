//! `balanced`: contiguous pieces of even estimated cost, large first, small at the tail.
//!
//! Guided self-scheduling (Polychronopoulos and Kuck 1987) over the cost of the whole job: a piece is half of a fair share
//! of what is left, down to an eighth of a fair share of the whole, which makes about five pieces per worker. Units are
//! walked from dear to cheap and cut only where a piece ends, because neighbours in a data set share prefixes; units too
//! small to be worth a task of their own travel together.

use super::pieces::Cursor;
use super::{TaskSpec, UnitSize};
use std::cmp::Reverse;

/// Tasks of all models, model after model; `groups` holds one model's units each.
pub(super) fn cut(groups: &[Vec<&UnitSize>], workers: u32) -> Vec<TaskSpec> {
    let total: u64 = groups.iter().flatten().map(|unit| cost(unit)).fold(0, u64::saturating_add);
    let workers = u64::from(workers);
    let least = (total / (8 * workers)).max(1);
    let mut left = total;
    let mut tasks = Vec::new();
    for group in groups {
        let mut units = group.clone();
        units.sort_by_key(|unit| Reverse(cost(unit)));
        let mut cutter = Cutter { workers, least, left, quota: 0, cost: 0, pieces: Vec::new(), done: Vec::new() };
        cutter.open();
        for unit in units {
            cutter.walk(unit);
        }
        cutter.close();
        left = cutter.left;
        // Stable, so that equal tasks stay in the order of the data.
        cutter.done.sort_by_key(|(cost, _)| Reverse(*cost));
        tasks.extend(cutter.done.into_iter().map(|(_, task)| task));
    }
    tasks
}

fn cost(unit: &UnitSize) -> u64 {
    unit.sample_cost().saturating_mul(u64::from(unit.remaining.len()))
}

/// Fills one task after the other.
struct Cutter {
    workers: u64,
    /// The least cost that is worth a task.
    least: u64,
    /// Cost of all that is in no closed task.
    left: u64,
    /// What the open task should cost.
    quota: u64,
    /// What it costs so far.
    cost: u64,
    pieces: Vec<TaskPiece>,
    done: Vec<(u64, TaskSpec)>,
}

type TaskPiece = (crate::ids::UnitId, crate::intervals::IntervalSet);

impl Cutter {
    fn open(&mut self) {
        self.quota = (self.left / (2 * self.workers)).max(self.least);
    }

    fn close(&mut self) {
        if !self.pieces.is_empty() {
            let task = TaskSpec { pieces: std::mem::take(&mut self.pieces) };
            self.done.push((self.cost, task));
        }
        self.left = self.left.saturating_sub(self.cost);
        self.cost = 0;
        self.open();
    }

    fn walk(&mut self, unit: &UnitSize) {
        let each = unit.sample_cost();
        let mut cursor = Cursor::new(&unit.remaining);
        // A scrap is what is not worth cutting off.
        let scrap = self.least / 2;
        while cursor.left() > 0 {
            let rest = each.saturating_mul(u64::from(cursor.left()));
            let room = self.quota.saturating_sub(self.cost);
            if rest <= room.saturating_add(scrap) {
                self.pieces.push((unit.id, cursor.take(u32::MAX)));
                self.cost = self.cost.saturating_add(rest);
                if self.cost.saturating_add(scrap) >= self.quota {
                    self.close();
                }
                continue;
            }
            if !self.pieces.is_empty() && room < scrap.max(each) {
                self.close();
                continue;
            }
            let count = u32::try_from(room / each).unwrap_or(u32::MAX).max(1);
            self.pieces.push((unit.id, cursor.take(count)));
            self.cost = self.cost.saturating_add(each.saturating_mul(u64::from(count)));
            self.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::UnitId;
    use crate::intervals::IntervalSet;

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
    fn small_units_travel_together_and_are_not_cut() {
        let subjects: Vec<UnitSize> = (0..57).map(|id| unit(id, 100, 2000, false)).collect();
        let tasks = cut(&[subjects.iter().collect()], 2);
        assert!((8..=14).contains(&tasks.len()), "{}", tasks.len());
        let cuts = tasks.iter().flat_map(|task| &task.pieces).filter(|(_, set)| set.len() < 100).count();
        assert!(cuts <= 2 * tasks.len(), "a task cuts at most one unit at each end");
    }

    #[test]
    fn generation_counts_dearer() {
        let (scored, generated) = (unit(0, 1000, 500, false), unit(1, 1000, 500, true));
        let tasks = cut(&[vec![&scored, &generated]], 4);
        assert_eq!(tasks[0].pieces[0].0, UnitId(1), "the dear unit goes first");
        let of_generated = tasks.iter().filter(|task| task.pieces.iter().any(|(id, _)| *id == UnitId(1))).count();
        let of_scored = tasks.iter().filter(|task| task.pieces.iter().any(|(id, _)| *id == UnitId(0))).count();
        assert!(of_generated > 3 * of_scored, "{of_generated} against {of_scored}");
    }
}
