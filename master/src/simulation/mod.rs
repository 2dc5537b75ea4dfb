//! Deterministic simulation: the real leader (scheduler, sessions, gate), the real ledger format and the real frames over
//! a simulated store, network, disk and clock, with simulated workers; one seed makes one history, to the last bit.
//!
//! Every step is checked against the invariants of [`crate::core::invariants`]. A history that breaks one is shrunk to
//! fewer faults, workers and samples and printed. [`Mutant`]s break the protocol on purpose, to show that it is noticed.

mod disk;
mod inbox;
mod liar;
mod links;
mod master;
mod mutant;
mod oracle;
mod plan;
mod reign;
mod release;
mod rng;
mod run;
mod scenario;
mod shrink;
mod store;
#[cfg(test)]
mod tests;
mod worker;
mod worker_frames;
mod world;

pub use mutant::Mutant;
pub use rng::Rng;
pub use run::{Outcome, run};
pub use scenario::{Fault, FaultKind, Scenario};
pub use shrink::shrink;
