//! What a worker decides, and nothing that it does: which master it dials, what it says, what it runs next, until when.
//!
//! [`AgentCore`] takes one [`Input`] at a time, with the time, and says what is to be done as [`Output`]. It holds no socket,
//! no task, no process, no file and no clock: the worker's shell does what it says, and so does a simulation.

mod bisection;
mod connect_error;
mod credit_control;
mod dispatch;
mod drain;
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

pub use bisection::PoisonBisection;
pub use connect_error::ConnectError;
pub use ending::Ending;
pub use grants::MAX_BATCH_SAMPLES;
pub use input::{Input, News};
pub use order::{BatchEnd, BatchOrder, ModelOrder, PartOrder, SlotEvent, SlotReport};
pub use output::Output;
pub use session::{AgentCore, Boot};
pub use spool::SpoolFile;
pub use transfer::BulkError;
