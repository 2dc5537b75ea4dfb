//! The decisions of a worker: which master to connect to, what to send, what to run next, and until when.
//!
//! [`AgentCore`] takes one [`Input`] at a time, with the time, and returns [`Output`]s. It has no socket, task,
//! process, file or clock: the worker's shell carries out its outputs, and so does a simulation.

mod bisection;
mod connect_error;
mod credit_control;
mod dispatch;
mod drain;
mod drain_state;
mod ending;
mod fetch;
mod grants;
mod idle_time;
mod inbound;
mod input;
mod lease;
mod order;
mod outbox;
mod output;
mod paid_answers;
mod parts;
mod rejection;
mod release;
mod result_batch;
mod results;
mod send;
mod session;
mod shard;
mod slots;
mod spool;
mod step;
#[cfg(test)]
mod step_tests;
mod transfer;
mod unbegun;
mod unbegun_timer;
mod upload_pauses;

pub use bisection::PoisonBisection;
pub use connect_error::ConnectError;
pub use ending::ExitReason;
pub use grants::MAX_BATCH_SAMPLES;
pub use input::{ConnectionEvent, Input};
pub use order::{BatchEnd, BatchOrder, ModelOrder, PartOrder, SlotEvent, SlotReport};
pub use output::Output;
pub use session::{AgentConfig, AgentCore};
pub use spool::SpoolFile;
pub use transfer::BulkError;
