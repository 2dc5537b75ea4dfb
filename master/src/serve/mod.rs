//! A master that stays: it takes jobs from `submit`, runs them side by side, and shares its workers out among them.
//!
//! What a server accepted is in its store before it says so; a server that is killed and started again goes on with every
//! job that has not ended, as a leader of its own epoch each. The `broker` says who works for whom; here it is carried out.

mod agents;
mod job_config;
mod jobs;
mod lobby;
mod server;

pub use server::serve;
