//! Samples that are recorded as failed: they have a result, which says why there is no score.

use compass_proto::FailureMark;
use compass_scheduler::Record;
use prost::Message as _;
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
        let (Record::Sample { grant, result, .. } | Record::Duplicate { grant, result, .. }) = record else { return };
        if FailureMark::decode(result.as_slice()).is_ok_and(|mark| mark.failed.is_some()) {
            self.add(grant.epoch.0, grant.task.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_proto::v1;
    use compass_scheduler::DeviceType;
    use compass_types::ids::{GrantId, UnitId, WorkerId};

    #[test]
    fn samples_with_a_reason_in_the_place_of_a_score_are_counted() {
        let record = |task: u32, index: u32, failed: bool| {
            let outcome = match failed {
                true => v1::sample_result::Outcome::Failed("the engine died".into()),
                false => v1::sample_result::Outcome::Rolling(v1::RollingScore::default()),
            };
            let result = v1::SampleResult { index, outcome: Some(outcome), ..Default::default() }.encode_to_vec();
            let (unit, grant, worker, device) =
                (UnitId(0), GrantId::new(3, task, 1), WorkerId("w".into()), DeviceType::Cpu);
            Record::Sample { unit, index, grant, worker, device, result }
        };
        let mut failed = FailedSamples::default();
        for known in [record(1, 0, true), record(1, 1, false), record(1, 2, true), record(2, 7, true)] {
            failed.observe(&known);
        }
        assert_eq!((failed.samples, failed.tasks), (3, BTreeSet::from([(3, 1), (3, 2)])));
    }
}
