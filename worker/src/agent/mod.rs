//! The agent: holds the session with the master, and keeps the engine slots busy with what was granted.
//!
//! [`session::AgentCore`] decides: it takes one [`input::Input`] at a time, with the time, and says what is to be done as
//! [`output::Output`]. [`shell::Shell`] does it: everything slow (connecting, fetching, uploading, computing) happens on
//! tasks of its own that report back.

mod batch;
mod bulk;
mod clock;
mod dispatch;
mod drain;
mod ending;
mod event;
mod fetch;
mod grants;
mod handed_in;
mod inbound;
mod input;
mod lease;
mod link;
mod options;
mod outbox;
mod output;
mod pace;
mod parts;
mod programs;
mod rejection;
mod release;
mod run;
mod send;
mod session;
mod shard;
mod shell;
mod slots;
mod spool;
mod starvation;
mod step;
#[cfg(test)]
mod step_tests;
mod suspects;

pub use ending::Ending;
pub(crate) use grants::PACK_SAMPLES;
pub use options::{AgentOptions, ProgramPolicy};
pub(crate) use programs::Programs;
pub use run::run;
pub(crate) use suspects::Suspects;
