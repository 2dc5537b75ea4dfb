//! The scheduler's state: tasks, workers, what is recorded.

use super::bars::{ModelBars, Supply};
use super::duplicates::Duplicates;
use super::effect::{Effect, Message, Record, Seq};
use super::labels::Labels;
use super::limits::Limits;
use super::misfits::Misfits;
use super::progress::Progress;
use super::queue::Queue;
use super::recorded::Recorded;
use super::recovering::Recovering;
use super::speeds::Speeds;
use super::task::{Task, TaskState, TaskView};
use super::task_table::{Change, Place, TaskTable, To};
use super::worker::Worker;
use super::worker_table::{Rank, WorkerIx, WorkerTable};
use compass_common::ids::{Epoch, GrantId, TaskId, UnitId, WorkerId};
use compass_common::intervals::IntervalSet;
use std::collections::{BTreeMap, BTreeSet};

/// Units that are remembered of a worker, however many slots it has.
const MOST_UNITS: u32 = 16;

/// How many workers are connected, and how many slots they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Present {
    pub(super) workers: u32,
    pub(super) slots: u32,
}

impl Present {
    fn count(&mut self, worker: &mut Worker, is_present: bool) {
        if std::mem::replace(&mut worker.is_present, is_present) != is_present {
            (self.workers, self.slots) = match is_present {
                true => (self.workers + 1, self.slots + worker.slots),
                false => (self.workers - 1, self.slots - worker.slots),
            };
        }
    }
}

/// The scheduler of one job. See [`Core::apply`].
///
/// One job per core: several jobs are several cores, and who of them is asked first when a worker has credit is for their
/// owner to say; nothing here knows of others.
#[derive(Clone, Debug)]
pub struct Core {
    pub(super) epoch: Epoch,
    pub(super) limits: Limits,
    /// Of the event under way.
    pub(super) now: u64,
    pub(super) tasks: TaskTable,
    pub(super) queue: Queue,
    pub(super) recovering: Recovering,
    pub(super) workers: WorkerTable,
    /// How many workers have a unit among their latest.
    pub(super) at_units: BTreeMap<UnitId, u32>,
    /// Workers that can take a grant, the least loaded first.
    pub(super) ready: BTreeSet<(u32, Rank, WorkerIx)>,
    pub(super) recorded: Recorded,
    pub(super) duplicates: Duplicates,
    pub(super) speeds: Speeds,
    /// Ticks until speeds and corrections are told apart again.
    pub(super) ticks_to_refine: usize,
    /// Slots that hold a model, or have grants of it ahead of them, of workers that may get tasks.
    pub(super) residents: BTreeMap<u32, u32>,
    /// When a model last got on.
    pub(super) got_on: BTreeMap<u32, u64>,
    /// Workers that cannot load a model.
    pub(super) bars: BTreeMap<u32, ModelBars>,
    pub(super) supply: Supply,
    pub(super) labels: Labels,
    /// Slots of all workers.
    pub(super) slots: u32,
    /// Workers that are connected, and their slots.
    pub(super) present: Present,
    /// Words that were said of tasks that have failed.
    pub(super) failure_words: BTreeSet<String>,
    /// Before then nothing is worth stealing.
    pub(super) steal_again: u64,
    /// Idle workers that found nothing, and whose turn is over until the others had theirs.
    pub(super) steal_turn: usize,
    /// Before then no busy worker takes what waits.
    pub(super) offer_again: u64,
    /// How long the job will still take, in milliseconds, if everybody is busy to the end; known only towards it.
    pub(super) fair_ms: Option<f64>,
    pub(super) last_seq: Seq,
    pub(super) counters: Progress,
    pub(super) misfits: Misfits,
    /// Attempts since all that is out was recorded.
    pub(super) attempts_since: u64,
    pub(super) finished: bool,
}

impl Core {
    /// A scheduler for `tasks`, whose samples are not in `recorded`. Tasks are granted in the order given.
    pub fn new(epoch: Epoch, limits: Limits, tasks: Vec<TaskView>, recorded: Recorded) -> Self {
        let supply = if limits.others_may_come { Supply::Possible } else { Supply::None };
        let mut core = Self {
            epoch,
            limits,
            now: 0,
            tasks: TaskTable::with_capacity(tasks.len()),
            queue: Queue::default(),
            recovering: Recovering::default(),
            workers: WorkerTable::default(),
            at_units: BTreeMap::new(),
            ready: BTreeSet::new(),
            recorded,
            duplicates: Duplicates::default(),
            speeds: Speeds::default(),
            ticks_to_refine: 0,
            residents: BTreeMap::new(),
            got_on: BTreeMap::new(),
            bars: BTreeMap::new(),
            supply,
            labels: Labels::default(),
            slots: 0,
            present: Present::default(),
            failure_words: BTreeSet::new(),
            steal_again: 0,
            steal_turn: 0,
            offer_again: 0,
            fair_ms: None,
            last_seq: Seq(0),
            counters: Progress::default(),
            misfits: Misfits::default(),
            attempts_since: 0,
            finished: false,
        };
        for view in tasks {
            if let Some(change) = core.tasks.add_view(view) {
                core.follow(change);
            }
        }
        core
    }

    /// Takes a task into another state; queue and holders follow.
    pub(super) fn transition(&mut self, id: TaskId, to: To) {
        if let Some(change) = self.tasks.transition(id, to) {
            self.follow(change);
        }
    }

    /// Lets the owners beside the tasks follow what has become of one.
    pub(super) fn follow(&mut self, Change { id, from, to }: Change) {
        let Some(task) = self.tasks.get(id) else { return };
        let model = task.model;
        match from {
            Place::Queue => self.queue.remove(id, task),
            Place::Recovering => self.recovering.remove(id),
            Place::Worker(worker) => {
                if let Some(holder) = self.workers.get_mut(worker)
                    && holder.held.remove(&id)
                {
                    holder.models.ended(model);
                    self.count_models(worker);
                    self.refresh(worker);
                }
            }
            Place::Closed => {}
        }
        let Some(task) = self.tasks.get(id) else { return };
        match to {
            Place::Queue => self.queue.insert(id, task),
            Place::Recovering => self.recovering.insert(id),
            Place::Worker(worker) => {
                if let Some(holder) = self.workers.get_mut(worker) {
                    holder.held.insert(id);
                    self.refresh(worker);
                }
            }
            Place::Closed => {}
        }
    }

    /// A task of its own for those of the samples that are open and whose task is `free`; `None` when there are none.
    pub(super) fn carve(
        &mut self,
        unit: UnitId,
        samples: &IntervalSet,
        free: impl Fn(TaskId, &Task) -> bool,
    ) -> Option<TaskId> {
        let (id, changes) = self.tasks.carve(unit, samples, free)?;
        changes.into_iter().for_each(|change| self.follow(change));
        Some(id)
    }

    /// Puts a worker where it belongs among those that can take a grant.
    pub(super) fn refresh(&mut self, id: WorkerIx) {
        let Some(worker) = self.workers.get_mut(id) else { return };
        self.present.count(worker, worker.connection.is_some());
        let load = worker.free_load();
        if worker.load != load {
            if let Some(old) = std::mem::replace(&mut worker.load, load) {
                self.ready.remove(&(old, worker.rank, id));
            }
            self.ready.extend(load.map(|load| (load, worker.rank, id)));
        }
        let fails = worker.infrastructure >= self.limits.infrastructure.max(1);
        let stays = worker.connection.is_some() && !worker.is_going() && worker.credit > 0;
        let counted = stays && worker.stall == 0 && !fails;
        if worker.counted != counted {
            worker.counted = counted;
            let held: Vec<u32> = worker.models.held().collect();
            held.into_iter()
                .for_each(|model| self.count_resident(if counted { (None, Some(model)) } else { (Some(model), None) }));
        }
    }

    /// Counts what has changed in the slots of a worker.
    pub(super) fn count_models(&mut self, id: WorkerIx) {
        let Some(worker) = self.workers.get_mut(id) else { return };
        let (counted, changes) = (worker.counted, worker.models.take_changes());
        if counted {
            changes.into_iter().for_each(|change| self.count_resident(change));
        }
    }

    /// No slot of the worker holds a model any more.
    pub(super) fn unload(&mut self, id: WorkerIx, model: u32) {
        if let Some(worker) = self.workers.get_mut(id) {
            worker.models.unload(model);
        }
        self.count_models(id);
    }

    /// Notes that a worker is at a unit: its engines hold what samples of it begin with, two units a slot.
    pub(super) fn comes_to(&mut self, id: WorkerIx, unit: UnitId) {
        let Some(worker) = self.workers.get_mut(id) else { return };
        if let Some(place) = worker.units.iter().position(|&known| known == unit) {
            worker.units.remove(place);
        } else {
            *self.at_units.entry(unit).or_default() += 1;
        }
        worker.units.push_back(unit);
        if worker.units.len() > worker.slots.saturating_mul(2).clamp(2, MOST_UNITS) as usize
            && let Some(left) = worker.units.pop_front()
        {
            self.leaves(left);
        }
    }

    /// Notes that a worker handed a whole grant back: unless it has others of that unit or has recorded some of it, it never
    /// computed what its samples begin with.
    pub(super) fn was_not_at(&mut self, id: WorkerIx, model: u32, unit: UnitId) {
        let Some(worker) = self.workers.get(id) else { return };
        let has_others = worker.held.iter().filter_map(|&task| self.task(task)).any(|task| task.unit == unit);
        if has_others || self.speeds.has_seen(id, model, unit) {
            return;
        }
        let Some(worker) = self.workers.get_mut(id) else { return };
        if let Some(place) = worker.units.iter().position(|&known| known == unit) {
            worker.units.remove(place);
            self.leaves(unit);
        }
    }

    fn leaves(&mut self, unit: UnitId) {
        if let Some(count) = self.at_units.get_mut(&unit) {
            *count -= 1;
            if *count == 0 {
                self.at_units.remove(&unit);
            }
        }
    }

    /// Forgets a worker; what it held is for the caller to see to.
    pub(super) fn remove_worker(&mut self, id: WorkerIx) -> Option<Worker> {
        let mut worker = self.workers.remove(id)?;
        self.present.count(&mut worker, false);
        worker.units.iter().for_each(|&unit| self.leaves(unit));
        if let Some(load) = worker.load {
            self.ready.remove(&(load, worker.rank, id));
        }
        self.slots -= worker.slots;
        if worker.counted {
            worker.models.held().for_each(|model| self.count_resident((Some(model), None)));
        }
        Some(worker)
    }

    /// A slot holds another model than before.
    fn count_resident(&mut self, (before, now): (Option<u32>, Option<u32>)) {
        if let Some(model) = before
            && let Some(count) = self.residents.get_mut(&model)
        {
            *count -= 1;
            if *count == 0 {
                self.residents.remove(&model);
            }
        }
        if let Some(model) = now {
            *self.residents.entry(model).or_default() += 1;
        }
    }

    /// How many tasks have failed or are in quarantine.
    pub fn failed_tasks(&self) -> u32 {
        self.tasks.failed()
    }

    /// Calls models and data sets by their names.
    #[must_use]
    pub fn labelled(mut self, labels: Labels) -> Self {
        self.labels = labels;
        self
    }

    /// Whether a worker is counted on: attached, and within its lease.
    pub fn has_workers(&self) -> bool {
        !self.workers.is_empty()
    }

    /// Whether nothing is left to do: every task is done, failed or in quarantine.
    pub fn is_finished(&self) -> bool {
        self.tasks.open() == 0
    }

    /// Samples that stay without a result, those included that were to get the result of one of them: unit, samples, why.
    pub fn failures(&self) -> Vec<(UnitId, IntervalSet, String)> {
        let failed = self.tasks.iter().filter_map(|(_, task)| match &task.state {
            TaskState::Failed { message, .. } => Some((task, message.clone())),
            TaskState::Quarantined { message, workers } => {
                Some((task, format!("{message} (the same on {} workers)", workers.len())))
            }
            _ => None,
        });
        let by_unit = failed.flat_map(|(task, why)| {
            let all = self.with_their_duplicates(task.unit, &task.remaining);
            all.into_iter().map(move |(unit, samples)| (unit, samples, why.clone()))
        });
        by_unit.collect()
    }

    /// The highest number that was given to a record.
    pub fn last_seq(&self) -> Seq {
        self.last_seq
    }

    pub(super) fn persist(&mut self, record: Record, effects: &mut Vec<Effect>) -> Seq {
        self.last_seq.0 += 1;
        effects.push(Effect::Persist { seq: self.last_seq, record });
        self.last_seq
    }

    pub(super) fn send(&self, worker: WorkerIx, message: Message, after: Seq, effects: &mut Vec<Effect>) {
        effects.push(Effect::Send { worker: self.workers.name(worker).clone(), message, after });
    }

    pub(super) fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(id)
    }

    /// Whether this is the grant that the task is out on now.
    pub fn is_live(&self, worker: &WorkerId, grant: &GrantId) -> bool {
        self.workers.find(worker).is_some_and(|worker| self.holds(worker, grant))
    }

    /// Whether the task is out at the worker under this grant.
    pub(super) fn holds(&self, worker: WorkerIx, grant: &GrantId) -> bool {
        grant.epoch == self.epoch
            && self.task(grant.task).is_some_and(|task| {
                task.attempt == grant.attempt
                    && matches!(task.state, TaskState::Granted { worker: holder, .. } if holder == worker)
            })
    }

    /// Whether a worker takes no more: it drains, or is wanted elsewhere.
    pub fn is_going(&self, worker: &WorkerId) -> bool {
        self.workers.named(worker).is_some_and(Worker::is_going)
    }

    /// Whether a grant may leave now that it is durable: meanwhile it may have gone to another, or its worker may have said
    /// that it cannot load the model, which then has been asked for the grant already.
    pub fn may_leave(&self, worker: &WorkerId, grant: &GrantId) -> bool {
        let model = self.task(grant.task).map(|task| task.model);
        let barred =
            self.workers.named(worker).zip(model).is_some_and(|(worker, model)| worker.barred.contains(&model));
        self.is_live(worker, grant) && !barred
    }
}
