//! Deterministic simulation: the agent's core and the leader (scheduler, sessions, durability barrier) as they are shipped, the real ledger
//! format and the real frames, over a simulated store, network, disk and clock, with simulated engines; one seed makes one
//! history, to the last bit. Some have several jobs: then the servers share their workers out by the shipped broker.
//! A [`Scenario`] is drawn from its seed; a script of [`SCRIPTS`] says what happens at which moment, and what must come of it.
//!
//! Every step is checked against the invariants of [`compass_scheduler::invariants`]. A history that breaks one is shrunk
//! to fewer faults, workers and samples and printed. [`Mutant`]s break the protocol on purpose, to show that it is noticed:
//! the world changes what goes into the two cores or what comes out, so that what is shipped knows nothing of them.

mod bulk;
mod disk;
mod engine;
mod fault;
mod idle;
mod inbox;
mod job;
mod kind;
mod lead;
mod led_job;
mod liar;
mod links;
mod master;
mod mutant;
mod oracle;
mod pool;
mod run;
mod scenario;
mod script;
mod scripts;
mod shrink;
mod spool;
mod store;
mod tally;
mod worker;
mod world;

pub use fault::{Fault, FaultKind};
pub use mutant::Mutant;
pub use run::{SimulatedRun, run};
pub use scenario::{FurtherJob, Scenario};
pub use scripts::{Moved, SCRIPTS};
pub use shrink::shrink;
