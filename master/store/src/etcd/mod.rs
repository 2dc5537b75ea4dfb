//! The etcd backend: one client per member, so that a dead one is left at once; the keeper of the lease on its own thread;
//! one runtime for all clients.

mod backend;
mod keeper;
mod open;
mod pool;
mod runtime;
mod translate;
mod trouble;

pub use backend::{EtcdBackend, EtcdStore};
