//! Gives back what no slot begins, whatever the reason: a grant that this worker holds and does not run is run nowhere.
//!
//! Invariant: a worker that may begin samples and runs none holds pending ones for a bounded time. Only time counts in which
//! it waits for nothing but itself: while a slot is busy, a grant may wait for that slot, and while the master has not
//! handled what this worker sent, for the master.

use super::grants::GrantState;
use super::session::AgentCore;
use super::unbegun_timer::UnbegunTimer;
use compass_proto::v1::FailureClass;
use compass_types::ids::GrantId;

/// Time after which a grant that no slot begins goes back, in milliseconds.
const BEGIN_MS: u64 = 30_000;
/// The same time while a part of the plan is being fetched, which may be large and its way slow.
const FETCH_MS: u64 = 300_000;

impl AgentCore {
    /// Gives every grant with pending samples back once none of them has begun for too long.
    pub(super) fn give_back_unbegun(&mut self, now_ms: u64) {
        let is_idle = self.slots.iter().all(|slot| slot.busy.is_none());
        let is_waiting = is_idle
            && self.may_begin(now_ms)
            && self.outbox.is_empty()
            && self.stream.as_ref().is_some_and(|stream| stream.welcomed)
            && self.grants.iter().any(GrantState::has_waiting);
        let waited = self.unbegun.observe(is_waiting, now_ms);
        if waited < if self.fetching.is_empty() { BEGIN_MS } else { FETCH_MS } {
            return;
        }
        self.unbegun = UnbegunTimer::default();
        let missing = self.fetching.first().map(|digest| digest.short().to_string());
        let (seconds, plan) = (waited / 1000, self.plan.clone());
        let waiting: Vec<GrantId> = self.grants.iter().filter(|held| held.has_waiting()).map(|held| held.key).collect();
        for grant in waiting {
            if let Some(part) = &missing {
                let why = format!("part {part} of the plan did not arrive within {seconds} s");
                self.give_back(grant, FailureClass::Infrastructure, why);
                continue;
            }
            let held = self.grants.get(grant);
            let owner = held.and_then(|held| held.slot);
            let of = held.zip(plan.as_ref()).and_then(|(held, plan)| plan.unit(held.unit)).map(|unit| unit.name());
            tracing::error!(task = %grant.task, of, owner, seconds, "no slot began the task; it goes back to the master");
            self.credit_control.forget(|known| *known != grant);
            self.return_unstarted(grant, true);
        }
        self.finish_all();
    }
}
