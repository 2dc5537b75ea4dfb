//! From the scheduler's records to what the committer makes durable.

use crate::core::{GrantRef, Holder, Record, Seq};
use crate::ledger::{Content, Entry, Kind, Submission};
use crate::store::Lease;
use compass_common::ids::{UnitId, WorkerId};

/// The entry or the write that makes a record durable.
pub(super) fn submission(seq: Seq, record: Record) -> Submission {
    let entry = |kind: Kind, unit: UnitId, grant: GrantRef, worker: WorkerId, payload| Entry {
        kind: kind.into(),
        unit: unit.0,
        task: grant.task.0,
        attempt: grant.attempt.0,
        epoch: grant.epoch.0,
        worker: worker.0,
        payload,
    };
    let lease = |Holder { worker, unit, attempt, samples }| Lease { worker, unit, attempt, samples };
    let content = match record {
        Record::Attempt { holder, .. } => Content::Lease(lease(holder)),
        Record::Out { holders } => Content::Leases(holders.into_iter().map(lease).collect()),
        Record::Sample { unit, grant, worker, result, .. } => {
            Content::Entry(entry(Kind::Sample, unit, grant, worker, result))
        }
        Record::Divergence { unit, grant, worker, result } => {
            Content::Entry(entry(Kind::Divergence, unit, grant, worker, result))
        }
        Record::Report { worker, report } => {
            Content::Entry(Entry { kind: Kind::Report.into(), worker: worker.0, payload: report, ..Entry::default() })
        }
    };
    Submission { seq, content }
}
