//! The agent: holds the session with the master, and keeps the engine slots busy with what was granted.
//!
//! [`compass_agent::AgentCore`] decides: it takes one input at a time, with the time, and says what is to be done. The shell
//! does it: everything slow (connecting, fetching, uploading, computing) happens on tasks of its own that report back.

mod bulk;
mod clock;
mod event;
mod link;
mod options;
mod programs;
mod run;
mod shell;
mod spool_file;

pub use compass_agent::Ending;
pub use options::{AgentOptions, ProgramPolicy};
pub(crate) use programs::Programs;
pub use run::run;
