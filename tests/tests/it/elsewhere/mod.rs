//! Models and data that are not on this host: from an object store and from a mirror of the hub to the table, by real
//! processes.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod adapters;
mod hub;
mod job;
mod object_store;
mod proxies;
mod users_block;
