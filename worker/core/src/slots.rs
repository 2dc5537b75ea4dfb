//! The agent's record of its slots: current batch and loaded model.

use super::parts::CachedPart;
use compass_plan::Part;
use compass_types::ids::{Digest, GrantId, ModelId, UnitId};
use std::sync::Arc;

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
    /// Time at which the slot became idle.
    pub(super) idle_since_ms: u64,
    /// Reason why its model cannot be loaded yet.
    pub(super) waiting: Option<String>,
}

impl Busy {
    /// Returns the part that holds a sample.
    pub(super) fn part_of(&self, index: u32) -> Option<Arc<Part>> {
        let holds = |part: &&CachedPart| part.part.sample(index).is_some();
        self.parts.iter().find(holds).or(self.parts.first()).map(|part| part.part.clone())
    }
}

/// A running batch.
#[derive(Debug)]
pub(super) struct Busy {
    pub(super) batch: u64,
    /// Digest of the model's plan.
    pub(super) holds: Option<Digest>,
    pub(super) grant: GrantId,
    pub(super) model: ModelId,
    /// All samples, those that were added included.
    pub(super) samples: Vec<u32>,
    /// Number of them without a result.
    pub(super) left: usize,
    /// Orders that have not ended.
    pub(super) orders: u32,
    /// The parts that hold them.
    pub(super) parts: Vec<CachedPart>,
    pub(super) since_ms: u64,
    /// Since when it is computed, once its model is loaded.
    pub(super) computed_since_ms: u64,
    /// Set if its plan is obsolete: its results are dropped.
    pub(super) stale: bool,
}
