//! Who gets what: pending tasks in order, to workers with credit, resident models first.

use super::effect::{Effect, Message, Record};
use super::event::GrantRef;
use super::state::{Core, TaskState};
use compass_common::ids::{TaskId, WorkerId};

impl Core {
    /// Grants while a connected worker has credit and a pending task suits it. Turns go round, one grant each, so that
    /// no worker is filled to its credit while another idles.
    pub(super) fn dispatch(&mut self, effects: &mut Vec<Effect>) {
        loop {
            let mut granted = false;
            let ready: Vec<WorkerId> = self.ready_workers();
            for worker in ready {
                if let Some(task) = self.choose(&worker) {
                    self.grant(&worker, task, effects);
                    granted = true;
                }
            }
            if !granted {
                return;
            }
        }
    }

    /// Workers that can take a grant, the least loaded (held per slot) first.
    fn ready_workers(&self) -> Vec<WorkerId> {
        let ready = self.workers.iter().filter(|(_, worker)| {
            worker.connection.is_some() && !worker.draining && (worker.held.len() as u32) < worker.credit
        });
        let mut ready: Vec<_> =
            ready.map(|(id, worker)| (worker.held.len() as u32 * 1000 / worker.slots, id)).collect();
        ready.sort();
        ready.into_iter().map(|(_, id)| id.clone()).collect()
    }

    fn choose(&self, worker: &WorkerId) -> Option<TaskId> {
        let worker = self.workers.get(worker)?;
        let suits = |id: &&TaskId| self.task(**id).is_some_and(|task| worker.suits(task.requires));
        let resident = |id: &&TaskId| self.task(**id).map(|task| task.model) == worker.resident;
        let mut suitable = self.pending.iter().filter(suits);
        suitable.clone().find(resident).or_else(|| suitable.next()).copied()
    }

    /// The attempt is durable before the grant is sent.
    fn grant(&mut self, worker: &WorkerId, id: TaskId, effects: &mut Vec<Effect>) {
        let epoch = self.epoch;
        let Some(task) = self.tasks.get_mut(id.0 as usize) else { return };
        if task.transient_failures + task.losses > 0 {
            self.retries += 1;
        }
        task.attempt.0 += 1;
        task.state = TaskState::Granted { worker: worker.clone() };
        let (unit, model, attempt, samples) = (task.unit, task.model, task.attempt, task.remaining.clone());
        self.pending.remove(&id);
        if let Some(worker) = self.workers.get_mut(worker) {
            worker.held.insert(id);
            worker.resident = Some(model);
        }
        let record = Record::Attempt { task: id, attempt, unit, samples: samples.clone(), worker: worker.clone() };
        let after = self.persist(record, effects);
        let grant = GrantRef { epoch, task: id, attempt };
        self.send(worker, Message::Grant { grant, unit, samples }, after, effects);
    }
}
