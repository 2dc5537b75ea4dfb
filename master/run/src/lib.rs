//! A stage of a run: its leader, its driver, its workers, and what they record.
//!
//! [`leader`] is sans-io: the driver of a real run and the simulation own the same one.

mod clock;
mod connections;
mod drive;
mod drive_error;
pub mod dry_run;
mod execution;
pub mod infer;
mod infer_error;
mod job_handle;
mod latency;
mod launching;
mod lead;
pub mod leader;
mod live;
#[cfg(test)]
mod live_tests;
mod model_placement;
#[cfg(test)]
mod mutated_frames;
mod opening;
mod previous_assignments;
mod run_fold;
mod task_list;
mod weights_gone;
#[cfg(test)]
mod wire_mutator;
mod worker_endpoint;
mod worker_source;

pub use drive::{Driver, Ending, Setup};
pub use dry_run::{check_launcher, dry_run, planned_slots};
pub use execution::{ExecuteError, Source, execute, execution_options};
pub use infer::{InferOptions, infer};
pub use infer_error::InferError;
pub use job_handle::{DemandPublisher, JobCommand, JobHandle, JobReasons};
pub use launching::{fleet_of, fleet_of_stage, open_at, shared_cores};
pub use lead::{RunTerm, candidate, claim_for_planning, recorded_lengths, running_elsewhere, would_listen};
pub use live::LiveWriting;
pub use model_placement::ModelPlacement;
pub use opening::Opening;
pub use previous_assignments::task;
pub use task_list::recorded_tasks;
pub use worker_endpoint::{EndpointError, WorkerEndpoint, check_authority, listen};
pub use worker_source::{StageRegistration, StageWorkers, WorkerSource};
