//! One task of a run folder, without a master: to see with one's own eyes what became of it.
//!
//! The plan is read from disk, engines run its samples as an agent's do, and what comes out goes to standard output, a JSON
//! line for each sample. Nothing is written into the run folder: results of a run come from its master alone.

mod arguments;
mod batches;
mod reading;
mod run;

pub(crate) use arguments::OnceArgs;
pub use arguments::OnceOptions;
pub use run::run;
