//! Rights of a session: the grants whose results count when this session hands them in.
//!
//! A right begins when a grant whose attempt is durable is sent, or when a hello presents a grant with a proof that
//! verifies. It shrinks by what the worker returns and ends with the worker's end of that grant or of its successor. It
//! outlives revocation and lease: what was granted once may still come in.

use compass_types::ids::{GrantId, UnitId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;

/// A grant of this session.
#[derive(Clone, Debug)]
struct Right {
    unit: UnitId,
    samples: IntervalSet,
    /// The grant under whose name the worker held these samples before.
    predecessor: Option<GrantId>,
}

/// All rights of one session.
#[derive(Clone, Debug, Default)]
pub struct Rights {
    by_grant: BTreeMap<GrantId, Right>,
}

impl Rights {
    /// Forgets everything: a hello says again what the worker holds.
    pub fn reset(&mut self) {
        self.by_grant.clear();
    }

    /// A right to these samples begins, as the successor of another where the worker held them before.
    pub fn begin(&mut self, grant: GrantId, unit: UnitId, samples: IntervalSet, predecessor: Option<GrantId>) {
        let predecessor = predecessor.filter(|before| *before != grant);
        // A grant that is kept under its name keeps what the hello presented, which may be more.
        self.by_grant.entry(grant).or_insert(Right { unit, samples, predecessor });
    }

    /// Returns whether a result of a sample counts under this grant.
    ///
    /// A sample that ran when the grant got its name may be of its predecessor alone, as another worker had it by then.
    pub fn cover(&self, grant: &GrantId, unit: UnitId, index: u32) -> bool {
        self.with_predecessors(grant).any(|(_, right)| right.unit == unit && right.samples.contains(index))
    }

    /// The grant, and those under whose names the worker held its samples before.
    fn with_predecessors(&self, grant: &GrantId) -> impl Iterator<Item = (GrantId, &Right)> {
        let find = |grant: GrantId| self.by_grant.get(&grant).map(|right| (grant, right));
        std::iter::successors(find(*grant), move |(_, right)| right.predecessor.and_then(find))
    }

    /// Returns whether this grant of samples of `unit` was made to the session, and has not ended.
    pub fn include(&self, grant: &GrantId, unit: UnitId) -> bool {
        self.by_grant.get(grant).is_some_and(|right| right.unit == unit)
    }

    /// The worker returned samples of a grant unbegun.
    pub fn shrink(&mut self, grant: &GrantId, returned: &IntervalSet) {
        for grant in self.with_predecessors(grant).map(|(grant, _)| grant).collect::<Vec<_>>() {
            if let Some(right) = self.by_grant.get_mut(&grant) {
                right.samples = right.samples.minus(returned);
            }
        }
    }

    /// The worker said its last of a grant, and so of those under whose names it held it before.
    ///
    /// One that has a successor ends with it: that the worker holds nothing under the old name is no end of what it computes.
    pub fn end(&mut self, grant: &GrantId) {
        if self.by_grant.values().any(|right| right.predecessor == Some(*grant)) {
            return;
        }
        let mut next = Some(*grant);
        while let Some(ended) = next.and_then(|grant| self.by_grant.remove(&grant)) {
            next = ended.predecessor;
        }
    }

    /// Returns the number of grants.
    pub fn len(&self) -> usize {
        self.by_grant.len()
    }

    /// Returns whether there are no grants.
    pub fn is_empty(&self) -> bool {
        self.by_grant.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(epoch: u64, task: u32) -> GrantId {
        GrantId::new(epoch, task, 1)
    }

    #[test]
    fn a_right_covers_what_was_granted_until_the_worker_ends_it() {
        let (mut rights, unit) = (Rights::default(), UnitId(2));
        rights.begin(grant(1, 1), unit, IntervalSet::range(0, 10), None);
        assert!(rights.cover(&grant(1, 1), unit, 9) && !rights.cover(&grant(1, 1), unit, 10));
        assert!(!rights.cover(&grant(1, 1), UnitId(3), 9) && !rights.cover(&grant(1, 2), unit, 9));
        rights.shrink(&grant(1, 1), &IntervalSet::range(5, 8));
        assert!(!rights.cover(&grant(1, 1), unit, 6) && rights.cover(&grant(1, 1), unit, 8));
        assert!(rights.include(&grant(1, 1), unit) && !rights.include(&grant(1, 1), UnitId(3)));
        rights.end(&grant(1, 1));
        assert!(rights.is_empty());
    }

    #[test]
    fn the_end_of_a_successor_ends_what_it_was_called_before() {
        let (mut rights, samples) = (Rights::default(), IntervalSet::range(0, 4));
        rights.begin(grant(1, 1), UnitId(0), samples.clone(), None);
        rights.begin(grant(2, 7), UnitId(0), samples.clone(), Some(grant(1, 1)));
        rights.begin(grant(2, 8), UnitId(0), samples.clone(), None);
        assert!(rights.cover(&grant(1, 1), UnitId(0), 3) && rights.cover(&grant(2, 7), UnitId(0), 3));
        rights.end(&grant(2, 7));
        assert_eq!(rights.len(), 1);
        // Kept under its own name it does not end itself twice.
        rights.begin(grant(2, 8), UnitId(0), IntervalSet::range(0, 2), Some(grant(2, 8)));
        assert!(rights.cover(&grant(2, 8), UnitId(0), 3), "what the hello presented stands");
        rights.reset();
        assert!(rights.is_empty());
    }

    #[test]
    fn what_ran_under_the_name_before_counts_under_the_new_one() {
        let (mut rights, unit) = (Rights::default(), UnitId(1));
        rights.begin(grant(2, 1), unit, IntervalSet::range(0, 8), None);
        // Another worker has sample 0 by now, which this one is just computing.
        rights.begin(grant(2, 10), unit, IntervalSet::range(1, 8), Some(grant(2, 1)));
        assert!(rights.cover(&grant(2, 10), unit, 0));
        assert!(!rights.cover(&grant(2, 10), unit, 8) && !rights.cover(&grant(2, 10), UnitId(0), 0));
        rights.shrink(&grant(2, 10), &IntervalSet::range(2, 8));
        assert!(!rights.cover(&grant(2, 10), unit, 2) && !rights.cover(&grant(2, 1), unit, 2));
        // A revocation under the old name arrives late: the worker answers that it does not hold that.
        rights.end(&grant(2, 1));
        assert!(rights.cover(&grant(2, 10), unit, 0));
        rights.end(&grant(2, 10));
        assert!(rights.is_empty());
    }
}
