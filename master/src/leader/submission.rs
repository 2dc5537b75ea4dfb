//! From the scheduler's records to what the committer makes durable.

use crate::core::{GrantRef, Record, Seq};
use crate::ledger::{Entry, Kind, Submission};
use crate::store::{Holding, Keys, Op};
use compass_common::ids::{Epoch, UnitId, WorkerId};

/// The entry or the write that makes a record durable.
pub(super) fn submission(keys: &Keys, epoch: Epoch, seq: Seq, record: Record) -> Submission {
    let entry = |kind: Kind, unit: UnitId, grant: GrantRef, worker: WorkerId, payload| Entry {
        kind: kind.into(),
        unit: unit.0,
        task: grant.task.0,
        attempt: grant.attempt.0,
        epoch: grant.epoch.0,
        worker: worker.0,
        payload,
    };
    let (entry, op) = match record {
        Record::Attempt { attempt, unit, samples, worker, .. } => {
            let key = keys.attempt(&Keys::attempt_key(unit, &samples));
            let holding = Holding { attempt, epoch, seq: seq.0, worker, samples };
            (None, Some(Op::Put { key, value: holding.encode() }))
        }
        Record::Sample { unit, grant, worker, result, .. } => {
            (Some(entry(Kind::Sample, unit, grant, worker, result)), None)
        }
        Record::Divergence { unit, grant, worker, result } => {
            (Some(entry(Kind::Divergence, unit, grant, worker, result)), None)
        }
        Record::Report { worker, report } => {
            (Some(Entry { kind: Kind::Report.into(), worker: worker.0, payload: report, ..Entry::default() }), None)
        }
    };
    Submission { seq, entry, op }
}
