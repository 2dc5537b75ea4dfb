//! Deadlines for silence and standstill of workers, without a walk over all of them with every tick.
//!
//! Invariant: no worker is overdue before the time that is kept for the next walk. What a worker does moves its deadline
//! later only, and one that comes later has a whole term before it, so that a walk is due at the earliest deadline that the
//! walk before found, and at the latest one term after that.

use super::limits::Limits;
use super::worker::Worker;
use super::worker_ids::WorkerIx;
use super::worker_table::WorkerTable;

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

/// A worker that holds tasks and has sent no results for long.
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

    /// Returns the number of times that time has passed.
    pub(super) fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Returns the time at which a worker last handed anything in, or was seen with nothing to hand in.
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

    /// Workers that have sent no results for too long, and are not to be named again before twice the time.
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

#[cfg(test)]
mod tests {
    use super::super::event::{Capabilities, ConnectionId};
    use super::*;
    use compass_types::ids::{TaskId, WorkerId};
    use proptest::prelude::*;

    /// Walks over all workers and returns what is overdue.
    fn walked(workers: &WorkerTable, now: u64, limits: &Limits) -> Overdue {
        let mut overdue = Overdue::default();
        for (id, worker) in workers.iter() {
            let since = now - worker.last_heard;
            if since >= limits.lease_ttl {
                overdue.lost.push(id);
            } else if since >= limits.silence && worker.connection.is_some() {
                overdue.silent.push(id);
            }
        }
        overdue
    }

    proptest! {
        #[test]
        fn fewer_walks_find_what_a_walk_with_every_tick_does(steps in proptest::collection::vec((0u8..4, 0u8..5, 0u64..90), 0..200)) {
            let limits = Limits { silence: 100, lease_ttl: 250, stall: 180, ..Limits::default() };
            let (mut workers, mut deadlines, mut now) = (WorkerTable::new(1), Deadlines::default(), 0);
            for (at, what, pause) in steps {
                let id = workers.intern(&WorkerId(format!("w{at}")));
                if workers.get(id).is_none() {
                    workers.attach(id, Worker::new(&Capabilities { slots: 1, ..Capabilities::default() }, 1, now));
                }
                workers.change(id, |worker| match what {
                    0 => (worker.connection, worker.last_heard) = (Some(ConnectionId(1)), now),
                    1 => worker.connection = None,
                    2 => worker.last_heard = now,
                    3 => (worker.last_progress, worker.stall) = (now, 0),
                    _ if worker.held.insert(TaskId(1)) => worker.last_progress = now,
                    _ => {
                        worker.held.remove(&TaskId(1));
                    }
                });
                now += pause;
                deadlines.tick(now);
                let expected = walked(&workers, now, &limits);
                let overdue = deadlines.overdue(&workers, now, &limits);
                prop_assert_eq!(&overdue, &expected);
                let is_stalled = |worker: &Worker| !worker.held.is_empty() && now - worker.last_progress >= worker.stall.max(limits.stall);
                let expected: Vec<_> = workers.iter().filter(|(_, worker)| is_stalled(worker)).map(|(id, _)| id).collect();
                let stalled = deadlines.stalled(&mut workers, now, limits.stall);
                prop_assert_eq!(stalled.iter().map(|stalled| stalled.worker).collect::<Vec<_>>(), expected);
                for id in overdue.silent {
                    workers.change(id, |worker| worker.connection = None);
                }
                for id in overdue.lost {
                    workers.remove(id);
                }
            }
        }
    }
}
