//! When silence and standstill of workers are due, without a walk over all of them with every tick.
//!
//! Invariant: no worker is overdue before the time that is kept for the next walk. What a worker does moves its deadline
//! later only, and one that comes later has a whole term before it, so that a walk is due at the earliest deadline that the
//! walk before found, and at the latest one term after that.

use super::limits::Limits;
use super::worker::Worker;
use super::worker_table::{WorkerIx, WorkerTable};

/// Times of the next walks, and of the latest tick.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deadlines {
    ticks: u64,
    ticked_at: u64,
    silence_at: u64,
    stall_at: u64,
}

/// Workers that were not heard for too long, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Overdue {
    /// Their lease is over.
    pub(super) lost: Vec<WorkerIx>,
    /// They are within their lease, but their connection was silent for too long.
    pub(super) silent: Vec<WorkerIx>,
}

/// A worker that holds tasks and has handed in nothing for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stalled {
    pub(super) worker: WorkerIx,
    pub(super) tasks: usize,
    pub(super) ms: u64,
}

impl Deadlines {
    /// Time has passed.
    pub(super) fn tick(&mut self, now: u64) {
        self.ticks += 1;
        self.ticked_at = now;
    }

    /// How often time has passed.
    pub(super) fn ticks(&self) -> u64 {
        self.ticks
    }

    /// When a worker last handed anything in, or was seen with nothing to hand in.
    pub(super) fn last_progress(&self, worker: &Worker) -> u64 {
        match worker.held.is_empty() && worker.idle_since_tick < self.ticks {
            true => worker.last_progress.max(self.ticked_at),
            false => worker.last_progress,
        }
    }

    /// Workers that were not heard for too long.
    pub(super) fn overdue(&mut self, workers: &WorkerTable, now: u64, limits: &Limits) -> Overdue {
        let mut overdue = Overdue::default();
        if now < self.silence_at {
            return overdue;
        }
        let term = limits.silence.min(limits.lease_ttl);
        self.silence_at = now.saturating_add(term);
        for (id, worker) in workers.iter() {
            let since = now.saturating_sub(worker.last_heard);
            let mut left = limits.lease_ttl;
            if since >= limits.lease_ttl {
                overdue.lost.push(id);
            } else if worker.connection.is_some() {
                if since >= limits.silence {
                    overdue.silent.push(id);
                } else {
                    left = term;
                }
            }
            self.silence_at = self.silence_at.min(worker.last_heard.saturating_add(left));
        }
        overdue
    }

    /// Workers that have handed in nothing for too long, and are not to be named again before twice the time.
    pub(super) fn stalled(&mut self, workers: &mut WorkerTable, now: u64, limit: u64) -> Vec<Stalled> {
        let mut stalled = Vec::new();
        if now < self.stall_at {
            return stalled;
        }
        self.stall_at = now.saturating_add(limit);
        for (id, worker) in workers.iter().filter(|(_, worker)| !worker.held.is_empty()) {
            let ms = now.saturating_sub(worker.last_progress);
            if ms >= worker.stall.max(limit) {
                stalled.push(Stalled { worker: id, tasks: worker.held.len(), ms });
            } else {
                self.stall_at = self.stall_at.min(worker.last_progress.saturating_add(worker.stall.max(limit)));
            }
        }
        for Stalled { worker, ms, .. } in &stalled {
            workers.change(*worker, |worker| worker.stall = ms * 2);
        }
        stalled
    }
}
