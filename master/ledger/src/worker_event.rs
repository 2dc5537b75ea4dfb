//! Events that became known of a worker: with the results and the reports, the record of a run over all of its leaders.

use super::record::{Kind, LedgerEntry};
use compass_types::ids::{Epoch, ModelId, WorkerId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that became known of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerEvent {
    /// It came: with so many slots, started for this kind of device, from this pool, so many seconds after the run began.
    Attached { slots: u32, device: String, pool: String, after: f64 },
    /// One of its engines loaded a model, and found this.
    Loaded { model: ModelId, facts: Value },
}

impl WorkerEvent {
    /// The entry that makes it durable.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn entry(&self, worker: &WorkerId, epoch: Epoch) -> serde_json::Result<LedgerEntry> {
        let payload = serde_json::to_vec(self)?;
        let worker = worker.0.clone();
        Ok(LedgerEntry { kind: Kind::Worker.into(), epoch: epoch.0, worker, payload, ..LedgerEntry::default() })
    }

    /// Returns the event of an entry; `None` where it is of another kind, or a later version wrote it.
    pub fn of(entry: &LedgerEntry) -> Option<Self> {
        (entry.kind() == Kind::Worker).then(|| serde_json::from_slice(&entry.payload).ok()).flatten()
    }
}
