//! The scheduler, sans-io: `apply(now, event, &mut effects)` over plain data.
//!
//! No clock, no sockets, no async, ordered collections, one owner. The ordering law: an effect that others can see
//! carries the number of the record that justifies it and waits until that record is durable.
//!
//! The state has owners with private fields, each of which states and checks an invariant of its own: tasks and their counts
//! (`task_table`), workers and the indexes over them (`worker_table`, `worker_indexes`), the pending tasks (`queue`), those
//! kept for workers of an older leader (`recovering`), speeds, bars, misfits, records, deadlines. Decisions (`dispatch`,
//! `steal`, `balance`, `failure`, `room`) read them and take tasks from state to state; what holds between owners is checked by
//! [`invariants`]. Workers go by number inside and by name at the edges.

mod apply;
mod assignments;
mod attach;
mod balance;
mod bars;
#[cfg(test)]
mod bars_tests;
pub mod broker;
mod checkpoint;
mod deadlines;
mod demand;
mod dispatch;
mod duplicates;
mod effect;
mod event;
mod explain;
mod failure;
mod failure_notes;
mod hold;
#[cfg(test)]
mod holding_tests;
mod indexed;
pub mod invariants;
mod labels;
mod limits;
mod misfit_record;
mod misfits;
#[cfg(test)]
mod misfits_tests;
#[cfg(test)]
mod moves_tests;
mod progress;
mod queue;
mod recent_units;
mod record_duplicates;
mod recorded;
mod recovering;
mod recovery;
mod refusal;
#[cfg(test)]
mod release_tests;
mod results;
mod room;
mod room_wait;
mod sample_index;
mod sample_set;
mod shares;
mod slot_models;
mod speeds;
mod standstill;
mod standstill_state;
#[cfg(test)]
mod standstill_tests;
mod state;
mod steal;
mod steal_timing;
mod task;
mod task_table;
#[cfg(test)]
mod tests;
mod unable;
mod wanted;
mod watch;
mod words;
mod worker;
mod worker_ids;
mod worker_indexes;
mod worker_table;

pub use apply::{CANCELLED, SHUTDOWN};
pub use bars::{Barred, Supply};
pub use demand::{Attendance, PoolChoice};
pub use duplicates::Duplicates;
pub use effect::{Effect, Holder, KeptGrant, Message, Record, Seq};
pub use event::{Capabilities, ConnectionId, Event, FailureClass, Handed, HeldGrant, SandboxState, Unfit};
pub use invariants::Violation;
pub use labels::Labels;
pub use limits::Limits;
pub use progress::Progress;
pub use recorded::{Arrival, DeviceType, Recorded};
pub use state::Core;
pub use task::{Former, Requires, TaskView};
pub use wanted::{Needed, Shortage, SlotDemand};
pub use watch::Watch;
