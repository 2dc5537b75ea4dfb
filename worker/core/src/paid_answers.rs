//! Bounds what a model behind an endpoint is asked for again when this worker dies: an answer that no master has recorded
//! is lost with the worker, and paid for twice.

use super::grants::GrantState;
use super::session::AgentCore;
use compass_plan::Plan;
use compass_types::ids::ModelId;

/// Samples that may be without a recorded result, for each request that may be in flight: those, and as many whose answers
/// are on their way to the master.
const OPEN_PER_REQUEST: usize = 2;

impl AgentCore {
    /// Returns how many samples of a model may be handed to an engine now; `None` for a model without a bound. In a pool
    /// that continues while disconnected there is no bound: the spool keeps its answers.
    pub(super) fn room_for_answers(&self, plan: &Plan, model: ModelId) -> Option<usize> {
        if self.terms.as_ref().is_some_and(|terms| terms.offline_continue) {
            return None;
        }
        let endpoint = plan.models.get(model.0 as usize)?.endpoint.as_ref()?;
        let most = endpoint.budget.share().max_concurrency as usize * OPEN_PER_REQUEST;
        let asked = self.slots.iter().filter_map(|slot| slot.busy.as_ref()).filter(|busy| busy.model == model);
        let asked: usize = asked.map(|busy| busy.left).sum();
        let sent = self.outbox.unacknowledged_samples(|unit| plan.model_of(unit) == model);
        let of_model = |held: &&GrantState| plan.model_of(held.unit) == model;
        let grants = self.grants.iter().filter(of_model);
        let gathered: usize = grants.map(|held| self.result_batches.samples(held.key)).sum();
        Some(most.saturating_sub(asked + sent + gathered))
    }
}
