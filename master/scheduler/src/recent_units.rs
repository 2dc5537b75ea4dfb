//! The units of a worker's latest grants: others of them share prefixes with what it has computed.
//!
//! Units that come and go are noted until they are taken, for whatever counts the workers at a unit.

use compass_types::ids::UnitId;
use std::collections::VecDeque;

/// Units that are remembered of a worker, however many slots it has.
const MOST: u32 = 16;

/// Arrival of a worker at a unit, or its departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visit {
    Entered(UnitId),
    Left(UnitId),
}

/// Units without repetition, the latest last.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentUnits {
    units: VecDeque<UnitId>,
    changes: Vec<Visit>,
}

impl RecentUnits {
    /// Notes that a worker with so many slots is at a unit: its engines hold what samples of it begin with, two units a slot.
    pub(super) fn visit(&mut self, unit: UnitId, slots: u32) {
        match self.units.iter().position(|&known| known == unit) {
            Some(at) => drop(self.units.remove(at)),
            None => self.changes.push(Visit::Entered(unit)),
        }
        self.units.push_back(unit);
        if self.units.len() > slots.saturating_mul(2).clamp(2, MOST) as usize
            && let Some(oldest) = self.units.pop_front()
        {
            self.changes.push(Visit::Left(oldest));
        }
    }

    /// Notes that the worker was never at a unit.
    pub(super) fn forget(&mut self, unit: UnitId) {
        if let Some(at) = self.units.iter().position(|&known| known == unit) {
            self.units.remove(at);
            self.changes.push(Visit::Left(unit));
        }
    }

    pub(super) fn contains(&self, unit: UnitId) -> bool {
        self.units.contains(&unit)
    }

    /// The units, the oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = UnitId> + '_ {
        self.units.iter().copied()
    }

    /// Takes the changes since the last call.
    pub(super) fn take_changes(&mut self) -> impl Iterator<Item = Visit> + '_ {
        self.changes.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_unit_is_forgotten() {
        let mut units = RecentUnits::default();
        (0..3).for_each(|unit| units.visit(UnitId(unit), 1));
        units.visit(UnitId(1), 1);
        assert_eq!(units.iter().collect::<Vec<_>>(), [UnitId(2), UnitId(1)]);
        units.forget(UnitId(2));
        units.forget(UnitId(9));
        let entered = |unit| Visit::Entered(UnitId(unit));
        let left = |unit| Visit::Left(UnitId(unit));
        let changes: Vec<_> = units.take_changes().collect();
        assert_eq!(changes, [entered(0), entered(1), entered(2), left(0), left(2)]);
    }
}
