//! Runs one task of a run folder without a master, to inspect its results.
//!
//! The plan is read from disk, engines run its samples as an agent's do, and results are printed to stdout, a JSON line
//! for each sample. The run folder does not change: only its master writes results.

mod arguments;
mod batches;
mod reading;
mod run;

pub(crate) use arguments::OnceArgs;
pub use arguments::OnceOptions;
pub use run::run;
