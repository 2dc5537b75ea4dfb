//! A leader, sans-io: scheduler, sessions, and the gate that holds back what is not durable yet.
//!
//! The driver of a real run and the simulation own the same [`Leader`]: they differ only in where frames come from, what
//! makes submissions durable, and whose clock it is.

mod arrivals;
mod gate;
#[expect(clippy::module_inception, reason = "the module is named after what it holds")]
mod leader;
#[cfg(test)]
mod leader_tests;
#[cfg(test)]
mod mutated_frames;
mod pins;
mod submission;
#[cfg(test)]
mod wire_mutator;

pub use arrivals::Refusals;
pub use leader::{Heard, Leader};
pub use pins::Pins;
