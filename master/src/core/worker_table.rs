//! The workers that are attached, in a slab by number; gone through in order of their names.
//!
//! A name gets a number when it is heard for the first time and keeps it: what is known of a worker under its number, its
//! speed above all, outlives its going. Names are hashed once for each event; the hash has no seed, and nothing is gone
//! through in its order: the scheduler stays a function of its events.

use super::worker::Worker;
use compass_common::ids::WorkerId;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};

/// Number of a worker's name within one job; never given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkerIx(pub(super) u32);

/// Rank among attached workers that are loaded alike: the lowest that was free when the worker attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(u32);

/// Workers by number and by name.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkerTable {
    by_name: HashMap<WorkerId, WorkerIx, BuildHasherDefault<DefaultHasher>>,
    names: Vec<WorkerId>,
    attached: Vec<Option<Worker>>,
    /// Attached workers by name.
    order: BTreeMap<WorkerId, WorkerIx>,
    ranks: u32,
    free: Vec<Rank>,
}

impl WorkerTable {
    /// Number of a name; a new one if the name was never heard.
    pub(super) fn intern(&mut self, name: &WorkerId) -> WorkerIx {
        if let Some(known) = self.by_name.get(name) {
            return *known;
        }
        let id = WorkerIx(self.names.len() as u32);
        self.by_name.insert(name.clone(), id);
        self.names.push(name.clone());
        self.attached.push(None);
        id
    }

    /// Number of a name that was heard before.
    pub(super) fn find(&self, name: &WorkerId) -> Option<WorkerIx> {
        self.by_name.get(name).copied()
    }

    pub(super) fn name(&self, id: WorkerIx) -> &WorkerId {
        &self.names[id.0 as usize]
    }

    /// An attached worker.
    pub(super) fn get(&self, id: WorkerIx) -> Option<&Worker> {
        self.attached.get(id.0 as usize)?.as_ref()
    }

    /// An attached worker, by name.
    pub(super) fn named(&self, name: &WorkerId) -> Option<&Worker> {
        self.get(self.find(name)?)
    }

    pub(super) fn get_mut(&mut self, id: WorkerIx) -> Option<&mut Worker> {
        self.attached.get_mut(id.0 as usize)?.as_mut()
    }

    /// Attaches a worker that is not.
    pub(super) fn insert(&mut self, id: WorkerIx, mut worker: Worker) {
        worker.rank = self.free.pop().unwrap_or_else(|| {
            self.ranks += 1;
            Rank(self.ranks - 1)
        });
        self.order.insert(self.name(id).clone(), id);
        self.attached[id.0 as usize] = Some(worker);
    }

    pub(super) fn remove(&mut self, id: WorkerIx) -> Option<Worker> {
        let worker = self.attached.get_mut(id.0 as usize)?.take()?;
        self.order.remove(&self.names[id.0 as usize]);
        self.free.push(worker.rank);
        Some(worker)
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Attached workers by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (WorkerIx, &Worker)> {
        self.order.values().filter_map(|&id| Some((id, self.get(id)?)))
    }

    /// Changes each attached worker, by name.
    pub(super) fn for_each_mut(&mut self, mut change: impl FnMut(WorkerIx, &WorkerId, &mut Worker)) {
        for (name, &id) in &self.order {
            if let Some(worker) = self.attached.get_mut(id.0 as usize).and_then(Option::as_mut) {
                change(id, name, worker);
            }
        }
    }

    /// Numbers of attached workers, by name.
    pub(super) fn keys(&self) -> impl Iterator<Item = WorkerIx> {
        self.order.values().copied()
    }

    /// Attached workers by name.
    pub(super) fn values(&self) -> impl Iterator<Item = &Worker> {
        self.iter().map(|(_, worker)| worker)
    }
}
