//! Moves from one job to another under the same master: finishes started samples, returns the others, and then connects
//! again, for the master to assign the next job.

use super::session::AgentCore;
use compass_proto::{intervals_to_wire, v1};
use compass_types::ids::GrantId;
use std::time::Duration;
use v1::worker_frame::Body;

impl AgentCore {
    /// Notes that there is no work yet; the master is alive.
    pub(super) fn wait(&mut self) {
        let now_ms = self.now_ms;
        if let Some(stream) = &mut self.stream {
            stream.asked_to_wait_ms = now_ms;
        }
        self.reset_backoff();
    }

    /// Starts to leave the current job.
    pub(super) fn release(&mut self) {
        if self.released || self.drain.is_some() {
            return;
        }
        tracing::info!("released to another job");
        self.released = true;
        self.send_credit();
        for key in self.grants.iter().map(|held| held.key).collect::<Vec<_>>() {
            self.return_unstarted(key, false);
        }
        self.finish_all();
    }

    /// Returns the samples of a grant that have not started; `unbegun` if no slot began them in time.
    pub(super) fn return_unstarted(&mut self, key: GrantId, unbegun: bool) {
        let Some(held) = self.grants.get_mut(key) else { return };
        let asked = held.open();
        let returned = held.return_unstarted(&asked);
        if returned.is_empty() {
            return;
        }
        if held.samples.is_empty() {
            self.grants.remove(key);
        }
        let held = self.grants.get(key).is_some();
        let ack = v1::RevokeAck { grant: Some(key.into()), returned: intervals_to_wire(&returned), held, unbegun };
        self.outbox.push(Body::RevokeAck(ack));
    }

    /// Connects again when the old job has acknowledged everything from this worker.
    pub(super) fn check_released(&mut self) {
        let idle = self.slots.iter().all(|slot| slot.busy.is_none()) && self.grants.iter().next().is_none();
        if self.released && idle && self.result_batches.grants().is_empty() && self.outbox.is_empty() {
            self.released = false;
            self.dial(Duration::ZERO);
        }
    }

    /// Returns digests of the models loaded by engines, each once.
    pub(super) fn models_held(&self) -> Vec<Vec<u8>> {
        let mut models: Vec<_> = self.slots.iter().filter_map(|slot| slot.model).collect();
        models.sort_unstable();
        models.dedup();
        models.into_iter().map(|digest| digest.0.to_vec()).collect()
    }
}
