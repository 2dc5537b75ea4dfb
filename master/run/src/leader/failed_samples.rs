//! Samples that are recorded as failed: they have a result, which says why there is no score.

use compass_scheduler::Record;
use std::collections::BTreeSet;

/// Number of samples that are recorded as failed, and their tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailedSamples {
    pub samples: u64,
    /// Numbers of tasks, with the epoch of the leader that counted them.
    pub tasks: BTreeSet<(u64, u32)>,
}

impl FailedSamples {
    /// Counts a sample of a task.
    pub fn add(&mut self, epoch: u64, task: u32) {
        self.samples += 1;
        self.tasks.insert((epoch, task));
    }

    /// Counts what a record says.
    pub fn observe(&mut self, record: &Record) {
        let (Record::Sample { grant, handed, .. } | Record::Duplicate { grant, original: handed, .. }) = record else {
            return;
        };
        if handed.failed {
            self.add(grant.epoch.0, grant.task.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_scheduler::{DeviceType, Handed};
    use compass_types::ids::{GrantId, UnitId, WorkerId};

    #[test]
    fn samples_with_a_reason_in_the_place_of_a_score_are_counted() {
        let record = |task: u32, index: u32, failed: bool| {
            let handed = Handed { index, result: Vec::new(), failed, device: DeviceType::Cpu };
            Record::Sample { unit: UnitId(0), grant: GrantId::new(3, task, 1), worker: WorkerId("w".into()), handed }
        };
        let mut failed = FailedSamples::default();
        for known in [record(1, 0, true), record(1, 1, false), record(1, 2, true), record(2, 7, true)] {
            failed.observe(&known);
        }
        assert_eq!((failed.samples, failed.tasks), (3, BTreeSet::from([(3, 1), (3, 2)])));
    }
}
