//! Partitioners: pure functions from what is still to do to tasks. No number depends on which one is used.

mod balanced;
mod cut;
mod factor;
mod kind;
mod naive;
mod num_worker;
mod pieces;
mod size;
mod task_list;
mod unit;

pub use cut::partition;
pub use kind::{PartitionStrategy, PartitionerKind};
pub use task_list::{ListedPiece, ListedTask, TaskList, TaskName, TaskNameError};
pub use unit::{PartitionError, TaskSpec, UnitSize};
