//! What masters tell each other of a job's run.

use compass_common::ids::Epoch;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Written by each leader when it takes the lead, and when the run is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The leader that wrote it.
    pub epoch: Epoch,
    /// The run folder, which all masters of the job must see under this path.
    pub folder: PathBuf,
    /// Whether the leader ended the run, its table included.
    pub finished: bool,
}

impl RunRecord {
    /// For the store.
    pub fn to_bytes(&self) -> Vec<u8> {
        // A path that is not UTF-8 cannot be told; others then learn of no folder, and say so.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// From the store; `None` for what another version wrote.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}
