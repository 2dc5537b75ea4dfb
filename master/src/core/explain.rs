//! Why a task waits, and what a worker is doing, in words. Pure: nothing changes by asking.

use super::state::{Core, Going};
use super::task::{Requires, TaskState};
use compass_common::ids::{TaskId, WorkerId};

impl Core {
    /// Where a task stands and why; `None` for one that there is not.
    pub fn explain_task(&self, id: TaskId) -> Option<String> {
        let task = self.task(id)?;
        let what =
            format!("task {id}: {} samples of unit {} left, attempt {}", task.remaining.len(), task.unit, task.attempt);
        let failures = &task.failures;
        let mut tries = Vec::new();
        for (count, what) in [
            (failures.transient, "transient failures"),
            (failures.infrastructure, "failures of nodes"),
            (failures.losses, "workers lost with it"),
        ] {
            if count > 0 {
                tries.push(format!("{count} {what}"));
            }
        }
        let tries = if tries.is_empty() { String::new() } else { format!(" ({})", tries.join(", ")) };
        Some(format!("{what}{tries}; {}", self.standing(&task.state, id)))
    }

    fn standing(&self, state: &TaskState, id: TaskId) -> String {
        match state {
            TaskState::Pending => format!("waiting: {}", self.why_pending(id)),
            TaskState::Recovering { worker } => {
                let left = self.recovering_until.saturating_sub(self.now) / 1000;
                format!(
                    "waiting for worker {worker}, to which an older master granted it; after {left} s anybody gets it"
                )
            }
            TaskState::Granted { worker } => {
                let left = self.lease_left(worker) / 1000;
                let asked = self.task(id).map_or(0, |task| task.asked.len());
                let split = if asked > 0 { format!("; asked to return {asked} samples") } else { String::new() };
                format!("granted to worker {worker}, whose lease ends in {left} s unless it is heard{split}")
            }
            TaskState::Done => "done".to_owned(),
            TaskState::Failed { class, message } => format!("failed ({class:?}): {message}").to_lowercase(),
            TaskState::Quarantined { message, workers } => {
                let workers: Vec<_> = workers.iter().map(|worker| worker.0.as_str()).collect();
                format!("in quarantine: the same error on {}: {message}", workers.join(", "))
            }
        }
    }

    fn why_pending(&self, id: TaskId) -> String {
        let Some(task) = self.task(id) else { return String::new() };
        let up: Vec<_> = self.workers.iter().filter(|(_, worker)| worker.connection.is_some()).collect();
        if up.is_empty() {
            return "no worker is connected".to_owned();
        }
        if let Some(pools) = self.limits.places.get(&task.model)
            && up.iter().all(|(_, worker)| !pools.contains(&worker.pool))
        {
            let pools: Vec<&str> = pools.iter().map(String::as_str).collect();
            return format!("its model loads in {} alone, and no connected worker is of there", pools.join(", "));
        }
        let able: Vec<_> = up.into_iter().filter(|(_, worker)| self.can_run(worker, task)).collect();
        if able.is_empty() {
            let lacks = if task.requires == Requires::Sandbox { "a sandbox for programs" } else { "libtorch" };
            return format!("it needs {lacks}, and no connected worker has it");
        }
        if able.iter().all(|(_, worker)| worker.is_going()) {
            return "every connected worker is leaving".to_owned();
        }
        let before = self.queue.before(id);
        format!("{} workers can run it and hold all that they want; {before} tasks come before it", able.len())
    }

    fn lease_left(&self, id: &WorkerId) -> u64 {
        let heard = self.workers.get(id).map_or(0, |worker| worker.last_heard);
        (heard + self.limits.lease_ttl).saturating_sub(self.now)
    }

    /// What a worker holds, how fast it gets on, and why it gets nothing more; `None` for one that is not attached.
    pub fn explain_worker(&self, id: &WorkerId) -> Option<String> {
        let worker = self.workers.get(id)?;
        let held: Vec<_> = worker.held.iter().map(|task| task.to_string()).collect();
        let tasks = if held.is_empty() { "no task".to_owned() } else { format!("tasks {}", held.join(", ")) };
        let silent = self.now.saturating_sub(worker.last_heard) / 1000;
        let next = if worker.connection.is_none() {
            format!("not connected; what it holds goes to others in {} s", self.lease_left(id) / 1000)
        } else if worker.going == Going::Wanted {
            "another job wants it: it finishes what it has begun, and takes no more".to_owned()
        } else if worker.is_going() {
            "draining: it takes no more".to_owned()
        } else if self.is_last_choice(id) {
            format!("asked last: its node failed {} times in a row", worker.infrastructure)
        } else if worker.held.len() as u32 >= worker.credit {
            format!("holds all that it wants ({})", worker.credit)
        } else if self.queue.is_empty() {
            "nothing waits".to_owned()
        } else {
            "nothing that waits suits it".to_owned()
        };
        Some(format!("worker {id}: {} slots, {tasks}, heard {silent} s ago; {next}", worker.slots))
    }
}
