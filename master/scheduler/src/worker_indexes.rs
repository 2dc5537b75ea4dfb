//! Indexes that are looked up without going through all workers: workers that can take a grant, the number of connected
//! ones, the models that their slots hold, the units that they are at.
//!
//! Invariant: every index is a function of the attached workers. [`WorkerIndexes::follow`] brings them up to date after any
//! change of a worker; what they hold of it is kept in the worker itself, as [`Indexed`].

use super::indexed::Indexed;
use super::recent_units::Visit;
use super::worker::Worker;
use super::worker_ids::{Rank, WorkerIx};
use compass_types::ids::{ModelId, UnitId};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// A worker that can take a grant: what it holds per slot, in thousandths, its rank and its number.
pub(super) type Ready = (u32, Rank, WorkerIx);

impl Indexed {
    fn of(worker: &Worker, failing: u32) -> Self {
        let is_connected = worker.connection.is_some();
        let is_sound = is_connected && worker.credit > 0 && worker.infrastructure < failing;
        let serves = is_sound && !worker.is_draining() && worker.stall == 0;
        Self { load: worker.free_load(), is_connected, is_sound, serves }
    }
}

/// Indexes over the attached workers.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkerIndexes {
    /// The least loaded first.
    ready: BTreeSet<Ready>,
    connected: u32,
    connected_slots: u32,
    sound: u32,
    /// Slots that hold a model, or have grants of it ahead of them, of workers that serve.
    residents: BTreeMap<ModelId, u32>,
    /// Number of workers that have a unit among their latest.
    at_units: BTreeMap<UnitId, u32>,
}

impl WorkerIndexes {
    /// Workers that can take a grant, the least loaded first.
    pub(super) fn ready(&self) -> &BTreeSet<Ready> {
        &self.ready
    }

    /// Returns the number of connected workers.
    pub(super) fn connected(&self) -> u32 {
        self.connected
    }

    /// Slots of the connected workers.
    pub(super) fn connected_slots(&self) -> u32 {
        self.connected_slots
    }

    /// Returns the number of connected workers that ask for grants and have a node that does not fail.
    pub(super) fn sound(&self) -> u32 {
        self.sound
    }

    /// Slots that hold a model, or have grants of it ahead of them, of workers that get on.
    pub(super) fn residents(&self, model: ModelId) -> u32 {
        self.residents.get(&model).copied().unwrap_or(0)
    }

    /// Returns whether any worker is, or was lately, at a unit.
    pub(super) fn is_visited(&self, unit: UnitId) -> bool {
        self.at_units.contains_key(&unit)
    }

    /// Brings the indexes up to date with a worker that has changed; its node fails from so many failures in a row.
    pub(super) fn follow(&mut self, id: WorkerIx, worker: &mut Worker, failing: u32) {
        self.replace(id, worker, Indexed::of(worker, failing));
    }

    /// Takes a worker that is no longer attached out of the indexes.
    pub(super) fn remove(&mut self, id: WorkerIx, worker: &mut Worker) {
        self.replace(id, worker, Indexed::default());
        worker.units.iter().for_each(|unit| count(&mut self.at_units, unit, false));
    }

    fn replace(&mut self, id: WorkerIx, worker: &mut Worker, now: Indexed) {
        let before = std::mem::replace(&mut worker.indexed, now);
        if before.load != now.load {
            before.load.map(|load| self.ready.remove(&(load, worker.rank, id)));
            self.ready.extend(now.load.map(|load| (load, worker.rank, id)));
        }
        if before.is_connected != now.is_connected {
            (self.connected, self.connected_slots) = match now.is_connected {
                true => (self.connected + 1, self.connected_slots + worker.slots),
                false => (self.connected - 1, self.connected_slots - worker.slots),
            };
        }
        self.sound = self.sound + u32::from(now.is_sound) - u32::from(before.is_sound);
        for (model, held) in worker.models.take_changes().filter(|_| before.serves) {
            count(&mut self.residents, model, held);
        }
        if before.serves != now.serves {
            worker.models.held().for_each(|model| count(&mut self.residents, model, now.serves));
        }
        for visit in worker.units.take_changes() {
            match visit {
                Visit::Entered(unit) => count(&mut self.at_units, unit, true),
                Visit::Left(unit) => count(&mut self.at_units, unit, false),
            }
        }
    }

    /// Reports what is wrong with the indexes, in words, by the rule of [`super::invariants`] that it breaks.
    pub(super) fn check<'a>(
        &self,
        workers: impl Iterator<Item = (WorkerIx, &'a Worker)>,
        failing: u32,
        fail: &mut impl FnMut(&'static str, String),
    ) {
        use super::invariants::{P1, R1};
        let mut found = Self::default();
        for (id, worker) in workers {
            let indexed = Indexed::of(worker, failing);
            if indexed != worker.indexed {
                fail(P1, format!("worker number {} is {indexed:?}, indexed as {:?}", id.0, worker.indexed));
            }
            found.ready.extend(indexed.load.map(|load| (load, worker.rank, id)));
            found.connected += u32::from(indexed.is_connected);
            found.connected_slots += if indexed.is_connected { worker.slots } else { 0 };
            found.sound += u32::from(indexed.is_sound);
            worker.models.held().filter(|_| indexed.serves).for_each(|model| count(&mut found.residents, model, true));
            worker.units.iter().for_each(|unit| count(&mut found.at_units, unit, true));
        }
        if found.ready != self.ready {
            fail(P1, format!("workers {:?} can take a grant, listed {:?}", found.ready, self.ready));
        }
        let counts = |of: &Self| (of.connected, of.connected_slots, of.sound);
        if counts(&found) != counts(self) {
            fail(
                R1,
                format!("{:?} workers and slots are connected and sound, counted {:?}", counts(&found), counts(self)),
            );
        }
        if (&found.residents, &found.at_units) != (&self.residents, &self.at_units) {
            fail(R1, format!("slots hold models {:?}, counted {:?}", found.residents, self.residents));
        }
    }
}

/// Counts one more or one less under a key; keys without any are not kept.
fn count<K: Ord>(counts: &mut BTreeMap<K, u32>, key: K, more: bool) {
    match counts.entry(key) {
        Entry::Vacant(vacant) if more => drop(vacant.insert(1)),
        Entry::Vacant(_) => {}
        Entry::Occupied(mut known) if more => *known.get_mut() += 1,
        Entry::Occupied(known) if *known.get() == 1 => drop(known.remove()),
        Entry::Occupied(mut known) => *known.get_mut() -= 1,
    }
}
