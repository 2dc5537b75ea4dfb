//! The agent's record of its slots: current batch and loaded model.

use super::parts::CachedPart;
use compass_types::ids::{Digest, GrantId, ModelId, UnitId};

/// State of one slot.
#[derive(Debug, Default)]
pub(super) struct SlotState {
    /// Position in the plan of the model that its child has loaded.
    pub(super) resident: Option<ModelId>,
    /// The model that its child has loaded, whatever the plan.
    pub(super) model: Option<Digest>,
    /// Unit of its latest batch: its child has the shared prefix of the unit's samples.
    pub(super) unit: Option<UnitId>,
    pub(super) busy: Option<Busy>,
    /// When the slot became idle.
    pub(super) idle_since_ms: u64,
    /// Why its model cannot be loaded yet.
    pub(super) waiting: Option<String>,
}

/// A running batch.
#[derive(Debug)]
pub(super) struct Busy {
    pub(super) batch: u64,
    /// Digest of the model's plan.
    pub(super) holds: Option<Digest>,
    pub(super) grant: GrantId,
    pub(super) model: ModelId,
    pub(super) samples: Vec<u32>,
    pub(super) part: CachedPart,
    pub(super) since_ms: u64,
    /// Whether its plan is obsolete: its results are dropped.
    pub(super) stale: bool,
}
