//! The agent's record of its slots: what each is doing and which model it holds.

use super::parts::CachedPart;
use compass_types::ids::{Digest, GrantId, ModelId, UnitId};

/// One slot.
#[derive(Debug, Default)]
pub(super) struct SlotState {
    /// Position in the plan of the model that its child holds.
    pub(super) resident: Option<ModelId>,
    /// The model that its child holds, whatever the plan.
    pub(super) model: Option<Digest>,
    /// The unit of its latest batch: its child holds what samples of it begin with.
    pub(super) unit: Option<UnitId>,
    pub(super) busy: Option<Busy>,
    /// Since when it has nothing to do.
    pub(super) idle_since_ms: u64,
}

/// A batch under way.
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
    /// Of a plan that nobody asks for any more: its results are dropped.
    pub(super) stale: bool,
}
