//! Partitioners: pure functions from a plan to tasks. No number depends on which one is used.

mod kind;

pub use kind::{PartitionerKind, PartitionStrategy};
