//! The scheduler, sans-io: `apply(now, event, &mut effects)` over plain data.
//!
//! No clock, no sockets, no async, ordered collections, one owner. The ordering law: an effect that others can see
//! carries the number of the record that justifies it and waits until that record is durable.

mod apply;
mod dispatch;
mod effect;
mod event;
pub mod invariants;
mod recorded;
mod refusal;
mod state;
#[cfg(test)]
mod tests;

pub use effect::{Effect, Message, Record, Seq};
pub use event::{Capabilities, ConnectionId, Event, FailureClass, GrantRef, HeldGrant, SandboxState};
pub use recorded::{Arrival, Recorded};
pub use state::{Core, Limits, Progress, Requires, TaskState, TaskView};
