//! Launchers: they start and stop workers, and say how a start went. The scheduler never depends on which one did.
//!
//! A [`Launcher`] knows one way of launching. A pool's task ([`Pool`]) keeps as many of its jobs alive as the autoscaler
//! asks for, and a [`Roster`] judges what became of each. [`Fleet`] owns the pools of a job.

mod binary;
mod command;
mod dlc;
mod error;
mod explain;
mod fleet;
mod last_words;
mod launcher;
mod local;
mod pool;
mod process;
mod queue_timeout;
mod roster;
mod scaler;
mod slurm;
mod slurm_command;
mod slurm_queue;
mod worker_command;

pub use binary::{find_worker, sees_gpu, visible_gpus};
pub use command::CommandLauncher;
pub use dlc::{DlcLauncher, DlcPlace};
pub use error::LaunchError;
pub use explain::{explain, explain_now};
pub use fleet::{Fleet, FleetHandle, LaunchEvent};
pub use last_words::speak_last_words;
pub use launcher::{JobId, Launched, Launcher, Manners, Outcome, Pending, Standing};
pub use local::{LocalLauncher, is_local};
pub use pool::{Pool, PoolReport, Shape};
pub use process::{Said, Tool};
pub use roster::Count;
pub use scaler::Bounds;
pub use slurm::{Belonging, SlurmLauncher};
pub use slurm_command::SlurmOrder;
pub use worker_command::{Programs, WorkerCommand, quoted};
