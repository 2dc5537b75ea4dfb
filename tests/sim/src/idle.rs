//! Watch for workers that have nothing to do for long, while a task waits that another one was granted and has not begun, or that no
//! worker of another job has.

use super::job::JobSample;
use super::world::World;
use compass_scheduler::invariants::I1;
use compass_types::ids::GrantId;
use std::collections::BTreeMap;

/// Longest time for which that may last. Much longer than two ways to a worker and back, as estimates of speeds need samples; and
/// shorter than what a worker is at.
const LONG_MS: u64 = 4_000;

/// Longest time for which a job may have tasks that no worker has while one has nothing to do: a worker that is on its way to it
/// finishes first what it has begun elsewhere.
const LONG_WITHOUT_WORKER_MS: u64 = 15_000;

/// Time since which nothing has changed.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// Workers without anything to compute.
    idle: BTreeMap<usize, u64>,
    /// Grants of which nothing has begun, by the worker that was told of them, and their jobs.
    queued: BTreeMap<(usize, (usize, GrantId)), u64>,
    /// Jobs with tasks that no worker has.
    pending: BTreeMap<usize, u64>,
}

impl World {
    /// Looks at every worker, in histories in which nothing goes wrong: else there may be many reasons to wait.
    pub(super) fn no_worker_idles(&mut self) {
        if !self.scenario.is_quiet() || self.over.iter().all(Option::is_some) {
            return;
        }
        let now = self.now;
        let mut watched = std::mem::take(&mut self.watched);
        let idle: Vec<usize> = (0..self.workers.len()).filter(|&at| self.workers[at].is_idle()).collect();
        watched.idle.retain(|at, _| idle.contains(at));
        for at in idle {
            watched.idle.entry(at).or_insert(now);
        }
        self.look_for_pending(&mut watched);
        let is_open = |key: JobSample| !self.begun.contains_key(&key) && !self.oracle.believes(key);
        let queued: Vec<(usize, (usize, GrantId))> = self
            .workers
            .iter()
            .enumerate()
            .flat_map(|(at, worker)| worker.granted.iter().map(move |(grant, told)| (at, *grant, told)))
            .filter(|(_, (job, _), (unit, samples, _))| samples.iter().all(|index| is_open((*job, *unit, index))))
            .map(|(at, grant, _)| (at, grant))
            .collect();
        watched.queued.retain(|key, _| queued.contains(key));
        for key in queued {
            watched.queued.entry(key).or_insert(now);
        }
        let long = |since: &u64| now >= since + LONG_MS;
        let idlers = watched.idle.iter().filter(|(_, since)| long(since)).map(|(at, _)| *at);
        for idler in idlers {
            let job = self.workers[idler].link.and_then(|link| self.links.all[link].job);
            let queued =
                watched.queued.iter().find(|((by, (of, _)), since)| long(since) && *by != idler && job == Some(*of));
            let name = self.workers[idler].name.clone();
            if let Some(((holder, (_, grant)), _)) = queued {
                let holder = self.workers[*holder].name.clone();
                self.oracle.violation(I1, format!("{name} idles while {holder} has {grant:?} and has not begun it"));
                break;
            }
            let very_long = |since: &u64| now >= since + LONG_WITHOUT_WORKER_MS;
            let pending = watched.pending.iter().find(|(of, since)| very_long(since) && job != Some(**of));
            if let Some((of, _)) = pending.filter(|_| very_long(&watched.idle[&idler])) {
                self.oracle.violation(I1, format!("{name} idles while job {of} has tasks that no worker has"));
                break;
            }
        }
        self.watched = watched;
    }

    /// Notes the jobs that have tasks that no worker has, and since when.
    fn look_for_pending(&mut self, watched: &mut Watched) {
        let now = self.now;
        for job in 0..self.jobs.len() {
            let leader = self.leader_of(job);
            let led = leader.and_then(|at| self.masters[at].led_job(job));
            match led.is_some_and(|led| led.leader.core().wanted().waiting.values().any(|tasks| *tasks > 0)) {
                true => drop(watched.pending.entry(job).or_insert(now)),
                false => drop(watched.pending.remove(&job)),
            }
        }
    }
}
