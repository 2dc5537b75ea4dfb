//! Draining: running samples finish and their results are sent, no new sample starts.

use super::drain_state::Drain;
use super::ending::ExitReason;
use super::output::Output;
use super::session::AgentCore;
use compass_proto::v1;
use v1::worker_frame::Body;

/// Time for the master to acknowledge the last results.
const ACKNOWLEDGE_TIMEOUT_MS: u64 = 10_000;

/// Signals that come within this time after the first one are the same as it: `timeout` signals its child and then its
/// process group.
const ONE_SIGNAL_MS: u64 = 500;

impl AgentCore {
    /// Starts to drain at a signal; the next one ends the agent, unless it comes at the same time.
    pub(super) fn signal(&mut self, number: u8) {
        match &self.drain {
            None => {
                self.start_drain(ExitReason::Signal(number), "a signal");
                let now_ms = self.now_ms;
                self.drain.iter_mut().for_each(|drain| drain.signalled_ms = Some(now_ms));
            }
            Some(drain) if drain.signalled_ms.is_some_and(|at| self.now_ms < at + ONE_SIGNAL_MS) => {}
            Some(_) => self.ending = Some(ExitReason::Signal(number)),
        }
    }

    /// Starts to drain; `ending` is the exit reason afterwards.
    pub(super) fn start_drain(&mut self, ending: ExitReason, reason: &str) {
        if self.drain.is_some() {
            return;
        }
        tracing::info!(reason, "draining");
        self.drain = Some(Drain { ending, reason: reason.to_owned(), idle_since_ms: None, signalled_ms: None });
        self.outputs.push(Output::ExitRequested);
        if self.terms.is_some() {
            self.announce_drain();
            self.send_credit();
        }
    }

    /// Tells a master that welcomes a draining worker again, with samples that run or results to deliver, that it drains: a
    /// master that had given the worker up does not know it, and would wait for it once it is gone until its lease expires.
    pub(super) fn announce_drain_again(&mut self) {
        let is_busy = self.slots.iter().any(|slot| slot.busy.is_some());
        if is_busy || self.outbox.unacknowledged_samples(|_| true) > 0 {
            self.announce_drain();
        }
    }

    fn announce_drain(&mut self) {
        if let Some(drain) = &self.drain {
            self.outbox.push(Body::Draining(v1::Draining { reason: drain.reason.clone() }));
        }
    }

    /// Ends the agent when the drain is complete, or has waited for the master long enough.
    pub(super) fn check_drained(&mut self, now_ms: u64) {
        let busy = self.slots.iter().any(|slot| slot.busy.is_some());
        if self.drain.is_none() || busy {
            return;
        }
        for grant in self.result_batches.grants() {
            self.send_results(grant);
        }
        let acknowledged = self.outbox.is_empty();
        let Some(drain) = &mut self.drain else { return };
        let since = *drain.idle_since_ms.get_or_insert(now_ms);
        if acknowledged || now_ms >= since + ACKNOWLEDGE_TIMEOUT_MS {
            self.ending = Some(drain.ending.clone());
        }
    }
}
