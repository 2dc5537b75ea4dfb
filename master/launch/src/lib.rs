//! Launchers: they start and stop workers, and say how a start went. The scheduler never depends on which one did.
//!
//! A [`Launcher`] knows one way of launching. A pool's task ([`Pool`]) keeps as many of its jobs alive as the autoscaler
//! asks for, and a [`JobTable`] judges what became of each. [`Autoscaler`] owns the pools of a job.

mod autoscaler;
mod binary;
mod command;
mod dlc;
mod emergency_cleanup;
mod error;
mod explain;
mod job_table;
mod launch_event;
mod launcher;
mod local;
mod log_follower;
mod pool;
#[cfg(test)]
mod pool_tests;
mod process;
mod queue_timeout;
mod scaler;
mod slurm;
mod slurm_command;
mod slurm_queue;
mod worker_command;

pub use autoscaler::{Autoscaler, AutoscalerHandle};
pub use binary::{find_worker, sees_gpu, visible_gpus};
pub use command::CommandLauncher;
pub use dlc::{DlcLauncher, DlcPlace};
pub use emergency_cleanup::emergency_cleanup;
pub use error::LaunchError;
pub use explain::{explain, explain_missing, explain_now};
pub use job_table::Count;
pub use launch_event::LaunchEvent;
pub use launcher::{JobOutcome, JobState, Launched, Launcher, LauncherJobId, LauncherPolicy, Pending};
pub use local::{LocalLauncher, is_local};
pub use pool::{Pool, PoolReport, PoolSpec};
pub use process::{Tool, ToolOutput};
pub use scaler::Bounds;
pub use slurm::{Belonging, SlurmLauncher};
pub use slurm_command::SlurmOrder;
pub use worker_command::{MasterAddresses, Programs, WorkerCommand, quoted};
