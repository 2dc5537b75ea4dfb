//! Record of a job's run, which masters tell each other.

use compass_common::encode::{self, EncodeError};
use compass_types::ids::Epoch;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Written by each leader when it takes the lead, and when the run is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The leader that wrote it.
    pub epoch: Epoch,
    /// The run folder, which all masters of the job must see under this path.
    pub folder: PathBuf,
    /// Set if the leader ended the run, its table included.
    pub finished: bool,
}

impl RunRecord {
    /// The bytes for the store.
    ///
    /// # Errors
    /// The path of the folder is not UTF-8.
    pub fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        encode::json("the record of the run", self)
    }

    /// From the store; `None` for what another version wrote.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}
