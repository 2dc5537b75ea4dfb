//! The workers that are attached, in a slab by number; gone through in order of their names.
//!
//! A name gets a number when it is heard for the first time and keeps it: what is known of a worker under its number, its
//! speed above all, outlives a reconnect. Names are hashed once for each event; the hash has no seed, and nothing is gone
//! through in its order: the scheduler stays a function of its events.
//!
//! Invariants: [`WorkerTable::change`] is the only way to change an attached worker, and the indexes follow every change;
//! the slots of all workers stay within the bound that [`WorkerTable::room`] was asked for.

use super::worker::Worker;
use super::worker_ids::{Rank, WorkerIx};
use super::worker_indexes::WorkerIndexes;
use compass_types::ids::WorkerId;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};

/// Workers by number and by name.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkerTable {
    by_name: HashMap<WorkerId, WorkerIx, BuildHasherDefault<DefaultHasher>>,
    names: Vec<WorkerId>,
    attached: Vec<Option<Worker>>,
    /// Attached workers by name.
    order: BTreeMap<WorkerId, WorkerIx>,
    ranks: u32,
    free_ranks: Vec<Rank>,
    /// Slots of all attached workers.
    slots: u32,
    indexes: WorkerIndexes,
    /// So many failures of a node in a row make its worker the last choice.
    failing: u32,
}

impl WorkerTable {
    /// A table without workers, where so many failures of a node in a row make its worker the last choice.
    pub(super) fn new(failing: u32) -> Self {
        Self { failing, ..Self::default() }
    }

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

    /// Changes an attached worker; `None` when it is not attached.
    pub(super) fn change<T>(&mut self, id: WorkerIx, change: impl FnOnce(&mut Worker) -> T) -> Option<T> {
        let worker = self.attached.get_mut(id.0 as usize)?.as_mut()?;
        let result = change(worker);
        self.indexes.follow(id, worker, self.failing);
        Some(result)
    }

    /// Returns the number of slots that a worker may have for all slots together to stay within a bound.
    pub(super) fn room(&self, id: WorkerIx, most: Option<u32>) -> u32 {
        let own = self.get(id).map_or(0, |worker| worker.slots);
        // What a worker claims never makes the sum of all slots overflow.
        most.unwrap_or(u32::MAX).saturating_sub(self.slots - own)
    }

    /// Attaches a worker that is not attached.
    pub(super) fn attach(&mut self, id: WorkerIx, mut worker: Worker) {
        worker.rank = self.free_ranks.pop().unwrap_or_else(|| {
            self.ranks += 1;
            Rank(self.ranks - 1)
        });
        self.slots += worker.slots;
        self.order.insert(self.name(id).clone(), id);
        self.attached[id.0 as usize] = Some(worker);
    }

    /// Removes a worker; what it held is for the caller to see to.
    pub(super) fn remove(&mut self, id: WorkerIx) -> Option<Worker> {
        let mut worker = self.attached.get_mut(id.0 as usize)?.take()?;
        self.indexes.remove(id, &mut worker);
        self.order.remove(&self.names[id.0 as usize]);
        self.free_ranks.push(worker.rank);
        self.slots -= worker.slots;
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

    /// Numbers of attached workers, by name.
    pub(super) fn keys(&self) -> impl Iterator<Item = WorkerIx> {
        self.order.values().copied()
    }

    /// Attached workers by name.
    pub(super) fn values(&self) -> impl Iterator<Item = &Worker> {
        self.iter().map(|(_, worker)| worker)
    }

    /// Returns the indexes of all workers, for look-ups without going through them.
    pub(super) fn indexes(&self) -> &WorkerIndexes {
        &self.indexes
    }

    /// Returns whether the node of a worker has failed so often in a row that others are asked first.
    pub(super) fn is_last_choice(&self, id: WorkerIx) -> bool {
        self.get(id).is_some_and(|worker| worker.infrastructure >= self.failing) && self.indexes.sound() > 0
    }

    /// Reports what is wrong with the table, in words, by the rule of [`super::invariants`] that it breaks.
    pub(super) fn check(&self, most_slots: Option<u32>, fail: &mut impl FnMut(&'static str, String)) {
        use super::invariants::R1;
        let slots: u32 = self.values().map(|worker| worker.slots).sum();
        if slots != self.slots || most_slots.is_some_and(|most| slots > most) {
            fail(R1, format!("{slots} slots, counted {}, {most_slots:?} allowed", self.slots));
        }
        self.indexes.check(self.iter(), self.failing, fail);
    }
}
