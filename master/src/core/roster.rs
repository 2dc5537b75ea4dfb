//! The workers that are attached: found by name many times for every result, gone through in order of their names.
//!
//! Names are hashed for the one and sorted for the other. The hash has no seed, and nothing is gone through in its order:
//! the scheduler stays a function of its events.

use super::state::Worker;
use compass_common::ids::WorkerId;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};

/// A worker's place for as long as it is attached: a number that is cheap to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seat(u32);

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Roster {
    places: HashMap<WorkerId, Seat, BuildHasherDefault<DefaultHasher>>,
    order: BTreeMap<WorkerId, Seat>,
    seats: Vec<Option<(WorkerId, Worker)>>,
    free: Vec<Seat>,
}

impl Roster {
    pub(super) fn get(&self, id: &WorkerId) -> Option<&Worker> {
        self.at(*self.places.get(id)?).map(|(_, worker)| worker)
    }

    pub(super) fn get_mut(&mut self, id: &WorkerId) -> Option<&mut Worker> {
        let seat = self.places.get(id)?;
        self.seats.get_mut(seat.0 as usize)?.as_mut().map(|(_, worker)| worker)
    }

    pub(super) fn seat(&self, id: &WorkerId) -> Option<Seat> {
        self.places.get(id).copied()
    }

    /// Who sits there.
    pub(super) fn at(&self, seat: Seat) -> Option<(&WorkerId, &Worker)> {
        self.seats.get(seat.0 as usize)?.as_ref().map(|(id, worker)| (id, worker))
    }

    /// Adds a worker, or replaces it.
    pub(super) fn insert(&mut self, id: WorkerId, worker: Worker) {
        let seat = self.places.get(&id).copied().or_else(|| self.free.pop()).unwrap_or(Seat(self.seats.len() as u32));
        if seat.0 as usize == self.seats.len() {
            self.seats.push(None);
        }
        self.places.insert(id.clone(), seat);
        self.order.insert(id.clone(), seat);
        self.seats[seat.0 as usize] = Some((id, worker));
    }

    pub(super) fn remove(&mut self, id: &WorkerId) -> Option<Worker> {
        let seat = self.places.remove(id)?;
        self.order.remove(id);
        self.free.push(seat);
        self.seats.get_mut(seat.0 as usize)?.take().map(|(_, worker)| worker)
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// By name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&WorkerId, &Worker)> {
        self.order.values().filter_map(|&seat| self.at(seat))
    }

    /// By name, to be changed.
    pub(super) fn for_each_mut(&mut self, mut change: impl FnMut(&WorkerId, &mut Worker)) {
        for seat in self.order.values() {
            if let Some((id, worker)) = self.seats.get_mut(seat.0 as usize).and_then(Option::as_mut) {
                change(id, worker);
            }
        }
    }

    /// By name.
    pub(super) fn keys(&self) -> impl Iterator<Item = &WorkerId> {
        self.order.keys()
    }

    /// By name.
    pub(super) fn values(&self) -> impl Iterator<Item = &Worker> {
        self.iter().map(|(_, worker)| worker)
    }
}
