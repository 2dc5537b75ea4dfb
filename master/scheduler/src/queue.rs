//! The queue: pending tasks by model and unit; those that go first, then others, then those that lack room in some worker's
//! memory, in order of their numbers.
//!
//! Invariant: it holds exactly the tasks in [`super::task::TaskState::Pending`], each under its model and its unit.

use super::task::{Requires, Task, TaskState};
use super::task_table::TaskTable;
use compass_types::ids::{ModelId, TaskId, UnitId};
use std::collections::{BTreeMap, BTreeSet};

/// Turn of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    First,
    InOrder,
    /// Workers that have tried it look at none of them.
    Last,
}

/// Place of a task.
type QueueKey = (Turn, TaskId);

fn place(id: TaskId, task: &Task) -> QueueKey {
    let turn = match (task.lacks_room(), task.first) {
        (true, _) => Turn::Last,
        (false, true) => Turn::First,
        (false, false) => Turn::InOrder,
    };
    (turn, id)
}

/// Pending tasks of a model.
#[derive(Clone, Debug, Default)]
struct OfModel {
    tasks: BTreeSet<QueueKey>,
    /// Number of them that have each requirement.
    requiring: [u32; Requires::KINDS],
}

/// Pending tasks.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    all: BTreeSet<QueueKey>,
    models: BTreeMap<ModelId, OfModel>,
    units: BTreeMap<UnitId, BTreeSet<QueueKey>>,
}

impl Queue {
    pub(super) fn insert(&mut self, id: TaskId, task: &Task) {
        let id = place(id, task);
        self.all.insert(id);
        let of_model = self.models.entry(task.model).or_default();
        of_model.requiring[task.requires as usize] += u32::from(of_model.tasks.insert(id));
        self.units.entry(task.unit).or_default().insert(id);
    }

    pub(super) fn remove(&mut self, id: TaskId, task: &Task) {
        let id = place(id, task);
        self.all.remove(&id);
        let of_model = self.models.entry(task.model).or_default();
        of_model.requiring[task.requires as usize] -= u32::from(of_model.tasks.remove(&id));
        self.units.entry(task.unit).or_default().remove(&id);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.all.iter().map(|(_, id)| *id)
    }

    /// Returns the number of tasks that wait in front of one.
    pub(super) fn before(&self, id: TaskId) -> usize {
        self.all.iter().take_while(|(_, other)| *other != id).count()
    }

    /// Tasks whose samples have no room in the memory of some worker.
    pub(super) fn lacking_room(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.all.range((Turn::Last, TaskId(0))..).map(|(_, id)| *id)
    }

    /// Models with the number of their tasks that wait.
    pub(super) fn models(&self) -> impl Iterator<Item = (ModelId, u32)> + '_ {
        self.models.iter().map(|(&model, tasks)| (model, tasks.tasks.len() as u32)).filter(|&(_, waiting)| waiting > 0)
    }

    /// Returns whether a task of a model is pending that has one of the requirements.
    pub(super) fn has_any(&self, model: ModelId, is_met: impl Fn(Requires) -> bool) -> bool {
        let requiring = self.models.get(&model).map_or([0; Requires::KINDS], |of_model| of_model.requiring);
        Requires::ALL.into_iter().any(|requires| requiring[requires as usize] > 0 && is_met(requires))
    }

    pub(super) fn of_model(&self, model: ModelId) -> impl Iterator<Item = TaskId> + '_ {
        self.models.get(&model).into_iter().flat_map(|of_model| &of_model.tasks).map(|(_, id)| *id)
    }

    pub(super) fn of_unit(&self, unit: UnitId) -> impl Iterator<Item = TaskId> + '_ {
        self.units.get(&unit).into_iter().flatten().map(|(_, id)| *id)
    }

    /// Reports what is wrong with the queue, in words, by the rule of [`super::invariants`] that it breaks.
    pub(super) fn check(&self, tasks: &TaskTable, fail: &mut impl FnMut(&'static str, String)) {
        let mut pending = 0;
        for (id, task) in tasks.iter() {
            let is_pending = task.state == TaskState::Pending;
            pending += usize::from(is_pending);
            let place = place(id, task);
            let models = self.models.get(&task.model).is_some_and(|of_model| of_model.tasks.contains(&place));
            let units = self.units.get(&task.unit).is_some_and(|tasks| tasks.contains(&place));
            if [self.all.contains(&place), models, units] != [is_pending; 3] {
                fail(super::invariants::P1, format!("task {id} is {:?}, which the queue does not follow", task.state));
            }
        }
        let requiring: u32 = self.models.values().flat_map(|of_model| of_model.requiring).sum();
        if pending != self.len() || requiring as usize != pending {
            fail(super::invariants::P1, format!("{pending} tasks are pending, {} in the queue", self.len()));
        }
    }
}
