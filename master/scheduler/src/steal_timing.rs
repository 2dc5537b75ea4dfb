//! Times at which work moves next between workers, and the bound on it towards the end of a job.
//!
//! Invariant: no pause lasts longer than the one that was set last, so that an event after it finds what there is to move.

/// Pauses, turns, and the time that is left.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StealTiming {
    steal_at: u64,
    turn: usize,
    offer_at: u64,
    fair_ms: Option<f64>,
}

impl StealTiming {
    /// Returns whether nothing is worth stealing yet.
    pub(super) fn is_paused(&self, now: u64) -> bool {
        now < self.steal_at
    }

    pub(super) fn pause(&mut self, until: u64) {
        self.steal_at = until;
    }

    /// Idle workers that found nothing, and whose turn is over until the others had theirs.
    pub(super) fn turn(&self) -> usize {
        self.turn
    }

    pub(super) fn set_turn(&mut self, turn: usize) {
        self.turn = turn;
    }

    /// Returns whether pending tasks are not offered to busy workers yet.
    pub(super) fn offers_pause(&self, now: u64) -> bool {
        now < self.offer_at
    }

    pub(super) fn pause_offers(&mut self, until: u64) {
        self.offer_at = until;
    }

    /// Returns the time that the job will still take, in milliseconds, if all workers are busy to the end; known only
    /// towards it.
    pub(super) fn fair_ms(&self) -> Option<f64> {
        self.fair_ms
    }

    pub(super) fn set_fair_ms(&mut self, fair_ms: Option<f64>) {
        self.fair_ms = fair_ms;
    }
}
