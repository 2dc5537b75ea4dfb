//! The agent: holds the session with the master and keeps the engine slots busy with granted samples.
//!
//! [`compass_agent::AgentCore`] decides: it takes one input at a time, with the time, and returns outputs. The shell
//! carries them out: everything slow (connecting, fetching, uploading, computing) runs in tasks that report back.

mod bulk;
mod clock;
mod event;
mod link;
mod options;
mod programs;
mod run;
mod shell;
mod spool_file;

pub use compass_agent::ExitReason;
pub use options::{AgentOptions, ProgramPolicy};
pub(crate) use programs::Programs;
pub use run::run;
