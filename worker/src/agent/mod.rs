//! The agent: holds the session with the master, and keeps the engine slots busy with what was granted.
//!
//! One task owns all state and takes one event at a time; everything slow (connecting, fetching, uploading, computing)
//! happens on tasks of its own that report back. `lease`, `outbox`, `rejection`, `grants`, `suspects`, `batch`, `parts`, `pace` are pure.

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
mod lease;
mod link;
mod options;
mod outbox;
mod pace;
mod parts;
mod programs;
mod rejection;
mod release;
mod run;
mod send;
mod session;
mod shard;
mod slots;
mod spool;
mod starvation;
mod suspects;

pub use ending::Ending;
pub(crate) use grants::PACK_SAMPLES;
pub use options::{AgentOptions, ProgramPolicy};
pub(crate) use programs::Programs;
pub use run::run;
pub(crate) use suspects::Suspects;
