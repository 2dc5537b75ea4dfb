//! A leader, sans-io: scheduler, sessions, and the barrier that holds back messages until their records are durable.
//!
//! The driver of a real run and the simulation own the same [`Leader`]: they differ only in where frames come from, what
//! makes submissions durable, and whose clock it is.

mod arrivals;
mod costs;
mod durability;
mod failed_samples;
#[expect(clippy::module_inception, reason = "the module is named after what it holds")]
mod leader;
#[cfg(test)]
mod leader_tests;
mod pins;
mod submission;

pub use costs::Costs;
pub use failed_samples::FailedSamples;
pub use leader::{FrameContent, Leader};
pub use pins::Pins;
