//! Whether a worker has nothing to do for long, while a task waits that another one was granted and has not begun.

use super::world::World;
use compass_common::ids::GrantId;
use compass_master::core::invariants::I1;
use std::collections::BTreeMap;

/// How long that may last. Much longer than two ways to a worker and back, as estimates of speeds need samples; and shorter
/// than what a worker is at.
const LONG_MS: u64 = 4_000;

/// Since when things stand as they do.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// Workers without anything to compute.
    idle: BTreeMap<usize, u64>,
    /// Grants of which nothing has begun, by who was told of them.
    queued: BTreeMap<(usize, GrantId), u64>,
}

impl World {
    /// Looks at every worker, in histories in which nothing goes wrong: else there may be many reasons to wait.
    pub(super) fn nobody_idles(&mut self) {
        if !self.scenario.is_quiet() || self.over.is_some() {
            return;
        }
        let now = self.now;
        let mut watched = std::mem::take(&mut self.watched);
        let idle: Vec<usize> = (0..self.workers.len()).filter(|&at| self.workers[at].is_idle()).collect();
        watched.idle.retain(|at, _| idle.contains(at));
        for at in idle {
            watched.idle.entry(at).or_insert(now);
        }
        let is_open = |unit: u32, index: u32| {
            !self.begun.contains_key(&(unit, index)) && !self.oracle.believed.contains_key(&(unit, index))
        };
        let queued: Vec<(usize, GrantId)> = self
            .workers
            .iter()
            .enumerate()
            .flat_map(|(at, worker)| worker.granted.iter().map(move |(grant, told)| (at, *grant, told)))
            .filter(|(_, _, (unit, samples, _))| samples.iter().all(|index| is_open(*unit, index)))
            .map(|(at, grant, _)| (at, grant))
            .collect();
        watched.queued.retain(|key, _| queued.contains(key));
        for key in queued {
            watched.queued.entry(key).or_insert(now);
        }
        let long = |since: &u64| now >= since + LONG_MS;
        let waiting = watched.queued.iter().find(|(_, since)| long(since)).map(|(key, _)| *key);
        let idler = watched.idle.iter().find(|(at, since)| long(since) && waiting.is_some_and(|(by, _)| by != **at));
        if let (Some((&idler, _)), Some((holder, grant))) = (idler, waiting) {
            let (idler, holder) = (self.workers[idler].name.clone(), self.workers[holder].name.clone());
            self.oracle.violation(I1, format!("{idler} idles while {holder} has {grant:?} and has not begun it"));
        }
        self.watched = watched;
    }
}
