//! Explanations of why a task waits and what a worker is doing, in words. Pure: nothing changes by asking.

use super::state::Core;
use super::task::{Requires, Task, TaskState};
use super::words::{lasting, some};
use super::worker::{Drain, Worker};
use super::worker_ids::WorkerIx;
use compass_types::ids::{TaskId, WorkerId};
use std::collections::BTreeSet;

/// Workers that a sentence names.
const MOST_NAMED: usize = 8;

impl Core {
    /// Explains the state of a task and its reason; `None` for an unknown one.
    pub fn explain_task(&self, id: TaskId) -> Option<String> {
        let task = self.task(id)?;
        let what = format!(
            "task {id}: {} of {} left, {}",
            some(task.remaining.len(), "sample"),
            self.labels.unit(task.unit),
            // Attempts count from the first grant.
            if task.attempt.0 == 0 { "not granted so far".to_owned() } else { format!("attempt {}", task.attempt) }
        );
        let failures = &task.failures;
        let mut tries = Vec::new();
        for (count, what) in [
            (failures.transient, "transient failure"),
            (failures.infrastructure, "failure of a node"),
            (failures.losses, "worker lost with it"),
        ] {
            if count > 0 {
                tries.push(match what.split_once(' ') {
                    _ if count == 1 => format!("1 {what}"),
                    Some(("transient", _)) => format!("{count} transient failures"),
                    Some(("failure", _)) => format!("{count} failures of nodes"),
                    _ => format!("{count} workers lost with it"),
                });
            }
        }
        let tries = if tries.is_empty() { String::new() } else { format!(" ({})", tries.join(", ")) };
        Some(format!("{what}{tries}; {}", self.standing(&task.state, id)))
    }

    fn standing(&self, state: &TaskState, id: TaskId) -> String {
        match state {
            TaskState::Pending => format!("waiting: {}", self.why_pending(id)),
            TaskState::Recovering { worker } => {
                let left = self.recovering.left(self.now) / 1000;
                format!(
                    "waiting for worker {worker}, to which an earlier master granted it; any worker gets it after {left} s"
                )
            }
            TaskState::Granted { worker, .. } => {
                let (left, worker) = (self.lease_left(*worker) / 1000, self.workers.name(*worker));
                let asked = self.task(id).map_or(0, |task| task.asked());
                let for_whom = self.workers.iter().find(|(_, worker)| worker.awaits == Some(id));
                let for_whom =
                    for_whom.map(|(id, _)| format!(" for idle worker {}", self.workers.name(id))).unwrap_or_default();
                let split = if asked > 0 {
                    format!("; asked to return {}{for_whom}", some(asked, "sample"))
                } else {
                    String::new()
                };
                format!("granted to worker {worker}; its lease expires in {left} s without a heartbeat{split}")
            }
            TaskState::Done => "done".to_owned(),
            TaskState::Failed { class, message } => {
                // The message is a user's own text, with paths in it: printed unchanged.
                let class = format!("{class:?}").to_lowercase();
                format!("failed ({class}): {message}")
            }
            TaskState::Quarantined { message, workers } => {
                let mut workers: Vec<_> = workers.iter().map(|worker| self.workers.name(*worker).to_string()).collect();
                workers.sort_unstable();
                format!("in quarantine: the same error on {}: {message}", workers.join(", "))
            }
        }
    }

    fn why_pending(&self, id: TaskId) -> String {
        let Some(task) = self.task(id) else { return String::new() };
        if let Some(why) = self.why_no_worker_fits(task) {
            return why;
        }
        let up: Vec<_> = self.workers.iter().filter(|(_, worker)| worker.connection.is_some()).collect();
        let able: Vec<_> = up.iter().filter(|(_, worker)| self.can_run(worker, task)).collect();
        let mut causes: Vec<String> = Vec::new();
        let barred = up.iter().filter_map(|&(id, _)| {
            Some(format!("worker {} is {}", self.workers.name(id), self.bar_in_words(id, task.model)?))
        });
        let barred: Vec<_> = barred.collect();
        let more = barred.len().saturating_sub(MOST_NAMED);
        causes.extend(barred.into_iter().take(MOST_NAMED));
        if more > 0 {
            causes.push(format!("{more} more {} barred", if more == 1 { "worker is" } else { "workers are" }));
        }
        if able.is_empty() {
            let left = lasting(self.waits_for_able(task.model).unwrap_or_default());
            causes.push(format!("no connected worker is able to load its model; it fails in {left} unless one joins"));
            return causes.join("; ");
        }
        if able.iter().all(|(_, worker)| worker.is_draining()) {
            causes.push("every connected worker is leaving".to_owned());
            return causes.join("; ");
        }
        let stays: Vec<_> = able.into_iter().filter(|(_, worker)| !worker.is_draining()).collect();
        let count = |what: &dyn Fn(WorkerIx, &Worker) -> bool| {
            stays.iter().filter(|(other, worker)| what(*other, worker)).count()
        };
        let full = count(&|_, worker| worker.held.len() as u32 >= worker.credit);
        let failed = count(&|other, _| self.is_for_another(other, task) || self.workers.is_last_choice(other));
        let without_room = count(&|other, _| !self.may_try(other, task));
        let is_cold =
            |worker: &Worker| (worker.held.len() as u32) < worker.credit && worker.models.slots_of(task.model) == 0;
        let cold = if self.pays_a_load(task.model, id) { 0 } else { count(&|_, worker| is_cold(worker)) };
        let busy = count(&|other, worker| {
            (worker.held.len() as u32) < worker.credit && self.is_busy_until_end(other, worker, task)
        });
        for (workers, why) in [
            (full, "at capacity"),
            (busy, "busy for the time that is left, so that it goes to the first idle one"),
            (failed, "left out because it failed there"),
            (without_room, "without room for its samples in memory"),
            (cold, "without its model, which is resident elsewhere and done there before it would be loaded"),
        ] {
            if workers > 0 {
                causes.push(format!("{workers} of {} {why}", some(stays.len() as u64, "eligible worker")));
            }
        }
        match self.queue.before(id) as u64 {
            0 => causes.push("it is the next in the queue".to_owned()),
            ahead => causes.push(format!("{} ahead of it in the queue", some(ahead, "task"))),
        }
        causes.join("; ")
    }

    /// Explains why no connected worker could take a task, as far as that can be told without what workers have tried.
    pub(super) fn why_no_worker_fits(&self, task: &Task) -> Option<String> {
        if let Some(pools) = self.pools_without_worker(task) {
            let pools: Vec<&str> = pools.iter().map(String::as_str).collect();
            let (named, those) = match pools.as_slice() {
                [pool] => (format!("pool {pool}"), format!("pool {pool}")),
                pools => (format!("the pools {}", pools.join(", ")), "those pools".to_owned()),
            };
            return Some(format!("the model is only available in {named}; no worker of {those} is connected"));
        }
        let up: Vec<_> = self.workers.values().filter(|worker| worker.connection.is_some()).collect();
        if up.is_empty() {
            // Those of a server may be with another job.
            return Some("no worker is connected to this job".to_owned());
        }
        let needed = if task.requires == Requires::Sandbox { "a sandbox for programs" } else { "libtorch" };
        let suits = up.iter().any(|worker| worker.suits(task.requires));
        (!suits).then(|| format!("{needed} is needed, and no connected worker has it"))
    }

    /// The pools to which a task's model is bound, where no worker of them is connected.
    pub(super) fn pools_without_worker(&self, task: &Task) -> Option<&BTreeSet<String>> {
        let mut up = self.workers.values().filter(|worker| worker.connection.is_some());
        let pools = self.limits.places.get(&task.model)?;
        up.all(|worker| !pools.contains(&worker.pool)).then_some(pools)
    }

    fn lease_left(&self, id: WorkerIx) -> u64 {
        let heard = self.workers.get(id).map_or(0, |worker| worker.last_heard);
        (heard + self.limits.lease_ttl).saturating_sub(self.now)
    }

    /// Explains why a worker that wants more gets none of the pending tasks, by the first of each model.
    fn why_none_is_granted(&self, id: WorkerIx, worker: &Worker) -> &'static str {
        let firsts = self.queue.models().filter_map(|(model, _)| self.queue.of_model(model).next());
        let pending: Vec<(TaskId, &Task)> = firsts.filter_map(|at| Some((at, self.task(at)?))).collect();
        let any = |is_so: &dyn Fn(TaskId, &Task) -> bool| pending.iter().any(|&(at, task)| is_so(at, task));
        let in_time = |task: &Task| self.suits(id, worker, task) && !self.is_busy_until_end(id, worker, task);
        let is_warm = |task: &Task| worker.models.slots_of(task.model) > 0;
        if !any(&|_, task| self.could_run(worker, task)) {
            "no pending task suits it"
        } else if !any(&|_, task| self.can_run(worker, task)) {
            "the models of what is pending have as many workers as they may"
        } else if !any(&|_, task| self.suits(id, worker, task)) {
            "what is pending has failed here, and is left to other workers"
        } else if !any(&|_, task| in_time(task)) {
            "what it holds takes it the time that is left; what is pending goes to the first idle worker"
        } else if !any(&|at, task| in_time(task) && (is_warm(task) || self.pays_a_load(task.model, at))) {
            "the models of what is pending are resident elsewhere, and done there before they would be loaded here"
        } else {
            "no pending task suits it"
        }
    }

    /// Explains what a worker holds, how fast it gets on, and why it gets nothing more; `None` for one that is not
    /// attached.
    pub fn explain_worker(&self, name: &WorkerId) -> Option<String> {
        if let Some(barred) = self.is_barred(name) {
            return Some(barred);
        }
        let id = self.workers.find(name)?;
        let worker = self.workers.get(id)?;
        let held: Vec<_> = worker.held.iter().map(|task| task.to_string()).collect();
        let tasks = match held.as_slice() {
            [] => "no task".to_owned(),
            [task] => format!("task {task}"),
            tasks => format!("tasks {}", tasks.join(", ")),
        };
        let silent = self.now.saturating_sub(worker.last_heard) / 1000;
        let next = if worker.connection.is_none() {
            format!("not connected; what it holds goes to others in {} s", self.lease_left(id) / 1000)
        } else if worker.drain == Drain::Requested {
            "another job wants it: it finishes what it has begun, and takes no more".to_owned()
        } else if worker.is_draining() {
            "draining: it takes no more".to_owned()
        } else if self.workers.is_last_choice(id) {
            match worker.infrastructure {
                1 => "asked last: its node failed once".to_owned(),
                times => format!("asked last: its node failed {times} times in a row"),
            }
        } else if worker.held.len() as u32 >= worker.credit {
            format!("holds all that it wants ({})", worker.credit)
        } else if let Some(task) = worker.awaits.filter(|task| self.task(*task).is_some_and(|task| task.asked() > 0)) {
            format!("task {task} is asked back for it")
        } else if !self.queue.is_empty() {
            self.why_none_is_granted(id, worker).to_owned()
        } else {
            let ahead: u32 = self.workers.values().map(|worker| worker.models.queued()).sum();
            match ahead {
                0 => "no task is pending".to_owned(),
                ahead => {
                    let (tasks, verb) = (some(ahead, "task"), if ahead == 1 { "waits" } else { "wait" });
                    format!("no task is pending; {tasks} {verb} behind others at workers that will end them sooner")
                }
            }
        };
        let barred: Vec<_> = worker
            .barred
            .iter()
            .filter_map(|model| Some(format!("; {}: {}", self.labels.model(*model), self.bar_in_words(id, *model)?)))
            .collect();
        let barred = barred.concat();
        Some(format!("worker {name}: {}, {tasks}, heard {silent} s ago; {next}{barred}", some(worker.slots, "slot")))
    }
}
