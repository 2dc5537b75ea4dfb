//! The scheduler, sans-io: `apply(now, event, &mut effects)` over plain data.
//!
//! No clock, no sockets, no async, ordered collections, one owner. The ordering law: an effect that others can see
//! carries the number of the record that justifies it and waits until that record is durable.

mod apply;
mod attach;
mod balance;
mod demand;
mod dispatch;
mod effect;
mod event;
mod explain;
mod failure;
#[cfg(test)]
mod holding_tests;
mod homes;
pub mod invariants;
mod limits;
mod out;
mod progress;
mod queue;
mod recorded;
mod refusal;
#[cfg(test)]
mod release_tests;
mod results;
mod roster;
mod sample_set;
mod speeds;
mod state;
mod steal;
mod task;
#[cfg(test)]
mod tests;
mod wanted;
mod watch;

pub use demand::Attendance;
pub use effect::{Effect, Holder, Kept, Message, Record, Seq};
pub use event::{Capabilities, ConnectionId, Event, FailureClass, GrantRef, HeldGrant, SandboxState};
pub use limits::Limits;
pub use progress::Progress;
pub use recorded::{Arrival, Recorded};
pub use state::Core;
pub use task::{Former, Requires, TaskState, TaskView};
pub use wanted::{Needed, Wanted};
pub use watch::Watch;
