//! Grants of older leaders, as the store tells: their attempts, and the workers that may still hold samples.

use compass_scheduler::Former;
use compass_store::{AssignmentPage, AssignmentRecord, Damage, Keys, current_assignments};
use compass_types::ids::{Attempt, Epoch, UnitId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;

/// The log of assignments.
#[derive(Debug, Default)]
pub(crate) struct PreviousAssignments {
    /// From the oldest to the latest, each with the epoch of its leader.
    pub all: Vec<(Epoch, AssignmentRecord)>,
    /// The keys of the log.
    pub keys: Vec<String>,
}

impl PreviousAssignments {
    /// Reads the log from what a store holds below [`Keys::assignments`], in order of keys.
    ///
    /// # Errors
    /// A page that cannot be read: the workers that hold what it names would be forgotten.
    pub(crate) fn read(keys: &Keys, entries: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<Self, Damage> {
        let (mut known, mut pages) = (Vec::new(), Vec::new());
        for (key, value) in entries {
            let page = keys.assignment_page_of(&key).zip(AssignmentPage::decode(&value));
            pages.push(page.ok_or_else(|| Damage::assignments(&key))?);
            known.push(key);
        }
        Ok(Self { all: current_assignments(pages), keys: known })
    }

    /// The highest attempt of the task that begins with these samples. Only of what may still be out: attempts are told
    /// apart by their epoch first.
    pub(crate) fn attempts(&self) -> BTreeMap<(UnitId, u32), Attempt> {
        let mut attempts = BTreeMap::new();
        for (_, assignment) in &self.all {
            let attempt: &mut Attempt = attempts.entry(task(assignment.unit, &assignment.samples)).or_default();
            *attempt = assignment.attempt.max(*attempt);
        }
        attempts
    }

    /// Returns the workers that may still hold samples: for every sample the latest grant, if its epoch did not end with a release.
    pub(crate) fn former(self, released: Epoch) -> Vec<Former> {
        let mut seen: BTreeMap<UnitId, IntervalSet> = BTreeMap::new();
        let mut former = Vec::new();
        for (epoch, AssignmentRecord { worker, unit, samples, .. }) in self.all.into_iter().rev() {
            let known = seen.entry(unit).or_default();
            let samples = samples.minus(known);
            *known = IntervalSet::from_pairs(known.pairs().iter().chain(samples.pairs()).copied());
            if epoch > released && !samples.is_empty() {
                former.push(Former { worker, unit, samples });
            }
        }
        former
    }
}

/// Names a task by its unit and first sample: stable for a partition, unique among tasks that are out at once.
pub fn task(unit: UnitId, samples: &IntervalSet) -> (UnitId, u32) {
    (unit, samples.pairs().first().map_or(0, |pair| pair.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_types::ids::{Digest, WorkerId};

    fn assignment(worker: &str, first: u32, end: u32) -> AssignmentRecord {
        let samples = IntervalSet::range(first, end);
        AssignmentRecord { worker: WorkerId(worker.into()), unit: UnitId(3), attempt: Attempt(first + 1), samples }
    }

    #[test]
    fn of_a_sample_the_latest_grant_counts_unless_it_was_released() {
        let keys = Keys::new(&Digest::of(b"plan"));
        let page = |epoch, number, assignments| {
            (keys.assignment_page(Epoch(epoch), number), AssignmentPage { assignments, replaces: None }.encode())
        };
        let read = || {
            let entries = [
                page(1, 40, vec![assignment("c", 2, 30)]),
                page(2, 9, vec![assignment("a", 0, 10)]),
                page(2, 12, vec![assignment("b", 6, 10)]),
            ];
            PreviousAssignments::read(&keys, entries).unwrap()
        };
        let of = |released| -> Vec<_> {
            let former = read().former(Epoch(released));
            former.into_iter().map(|former| (former.worker.0, former.samples.pairs().to_vec())).collect()
        };
        let (b, a, c) = (("b".into(), vec![(6, 10)]), ("a".into(), vec![(0, 6)]), ("c".into(), vec![(10, 30)]));
        assert_eq!(of(0), [b.clone(), a.clone(), c]);
        assert_eq!(of(1), [b, a]);
        assert!(of(2).is_empty());
        assert_eq!(read().attempts().get(&(UnitId(3), 6)), Some(&Attempt(7)));
        assert_eq!(read().keys.len(), 3);
    }
}
