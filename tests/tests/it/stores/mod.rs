//! The lease stores: one suite on every backend, and what a real etcd and a bad network do to one of them.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod memory;
mod one_node;
mod real;
mod secured;
mod suite;
mod three_nodes;
