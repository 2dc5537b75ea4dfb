//! ConnectionSlots for connections: so many in all, and few for those of each address that are no worker's.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bounds on what peers may hold open.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections in all.
    pub connections: usize,
    /// Connections of one address that are no worker's: in their handshake, or enrolling.
    pub unauthenticated: usize,
    /// The same of all addresses.
    pub all_unauthenticated: usize,
    pub handshake: Duration,
    /// Lifetime of a connection that is not a worker's.
    pub unauthenticated_life: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 20_000,
            unauthenticated: 256,
            all_unauthenticated: 2_048,
            handshake: Duration::from_secs(10),
            unauthenticated_life: Duration::from_secs(30),
        }
    }
}

/// Count of the open connections, and how many of each address are no worker's.
#[derive(Clone, Debug)]
pub struct ConnectionSlots {
    bounds: Bounds,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken {
    connections: usize,
    all_unauthenticated: usize,
    unauthenticated: BTreeMap<IpAddr, usize>,
}

/// A place of a connection; dropping it gives it back.
#[derive(Debug)]
pub struct ConnectionSlot {
    places: ConnectionSlots,
    /// While the peer is not a worker.
    unauthenticated: Option<IpAddr>,
}

impl ConnectionSlots {
    /// Nothing is taken yet.
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, taken: Arc::default() }
    }

    /// A place for a connection from this address; `None` where the bounds are reached.
    pub fn take(&self, address: IpAddr) -> Option<ConnectionSlot> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let of_this = taken.unauthenticated.get(&address).copied().unwrap_or(0);
        let full = taken.connections >= self.bounds.connections
            || taken.all_unauthenticated >= self.bounds.all_unauthenticated
            || of_this >= self.bounds.unauthenticated;
        if full {
            return None;
        }
        taken.connections += 1;
        taken.all_unauthenticated += 1;
        taken.unauthenticated.insert(address, of_this + 1);
        drop(taken);
        Some(ConnectionSlot { places: self.clone(), unauthenticated: Some(address) })
    }
}

impl ConnectionSlot {
    /// The peer is a worker.
    pub(super) fn known(&mut self) {
        let Some(address) = self.unauthenticated.take() else { return };
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all_unauthenticated = taken.all_unauthenticated.saturating_sub(1);
        let left = taken.unauthenticated.get(&address).copied().unwrap_or(0).saturating_sub(1);
        match left {
            0 => taken.unauthenticated.remove(&address),
            left => taken.unauthenticated.insert(address, left),
        };
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.known();
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.connections = taken.connections.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_for_all_and_for_each_address_and_come_back() {
        let bounds = Bounds { connections: 5, unauthenticated: 2, all_unauthenticated: 3, ..Bounds::default() };
        let places = ConnectionSlots::new(bounds);
        let address = |n| IpAddr::from([10, 0, 0, n]);
        let mut first = places.take(address(1)).unwrap();
        let second = places.take(address(1)).unwrap();
        assert!(places.take(address(1)).is_none(), "two of one address");
        let third = places.take(address(2)).unwrap();
        assert!(places.take(address(3)).is_none(), "three unauthenticated peers");
        first.known();
        let fourth = places.take(address(1)).unwrap();
        drop((third, second));
        let fifth = places.take(address(4)).unwrap();
        let sixth = places.take(address(5)).unwrap();
        drop(sixth);
        drop(fifth);
        drop((first, fourth));
        let taken = places.taken.lock().unwrap();
        assert_eq!((taken.connections, taken.all_unauthenticated, taken.unauthenticated.len()), (0, 0, 0));
    }
}
