//! From the scheduler's records to what the committer makes durable.

use compass_ledger::{Content, Kind, LedgerEntry, Submission};
use compass_proto::encoded_under;
use compass_scheduler::{DeviceType, Holder, Record, Seq};
use compass_store::AssignmentRecord;
use compass_types::ids::{GrantId, UnitId, WorkerId};

/// The entry or the write that makes a record durable.
pub(super) fn submission(seq: Seq, record: Record) -> Submission {
    let entry = |kind: Kind, unit: UnitId, grant: GrantId, worker: WorkerId, device: DeviceType, payload| LedgerEntry {
        kind: kind.into(),
        unit: unit.0,
        task: grant.task.0,
        attempt: grant.attempt.0,
        epoch: grant.epoch.0,
        worker: worker.0,
        payload,
        device: device.number(),
    };
    let assignment = |Holder { worker, unit, attempt, samples }| AssignmentRecord { worker, unit, attempt, samples };
    let content = match record {
        Record::Attempt { holder, .. } => Content::Assignment(assignment(holder)),
        Record::Out { holders } => Content::Checkpoint(holders.into_iter().map(assignment).collect()),
        Record::Sample { unit, grant, worker, handed } => {
            Content::Entry(entry(Kind::Sample, unit, grant, worker, handed.device, handed.result))
        }
        Record::Duplicate { unit, index, grant, worker, original } => {
            let result = encoded_under(index, &original.result);
            Content::Entry(entry(Kind::Sample, unit, grant, worker, original.device, result))
        }
        Record::Divergence { unit, grant, worker, handed, .. } => {
            Content::Entry(entry(Kind::Divergence, unit, grant, worker, handed.device, handed.result))
        }
        Record::Misfit { unit, grant, worker, result } => {
            Content::Entry(entry(Kind::Divergence, unit, grant, worker, DeviceType::Unknown, result))
        }
        Record::Report { worker, report } => Content::Entry(LedgerEntry {
            kind: Kind::Report.into(),
            worker: worker.0,
            payload: report,
            ..LedgerEntry::default()
        }),
        Record::Pin { worker, model, pin } => {
            let kind = Kind::Pin.into();
            Content::Entry(LedgerEntry {
                kind,
                unit: model.0,
                worker: worker.0,
                payload: pin,
                ..LedgerEntry::default()
            })
        }
    };
    Submission { seq, content }
}
