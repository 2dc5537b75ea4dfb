//! Source of a stage's workers: a server, which listens for them and says which of them go to which job.

use super::infer_error::InferError;
use super::model_placement::ModelPlacement;
use compass_launch::{PoolReport, Programs};
use compass_rpc::Inbound;
use compass_run_folder::RunFolder;
use compass_scheduler::SlotDemand;
use compass_settings::Config;
use compass_types::ids::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::path::PathBuf;
use tokio::sync::{mpsc, watch};

/// Facts that a stage gives of itself when it asks for workers.
#[derive(Debug)]
pub struct StageRegistration<'s> {
    /// Its name on the screen and in the folder of its logs.
    pub name: &'static str,
    /// Digest of the plan.
    pub plan: Digest,
    /// The plan's files, for workers to fetch.
    pub files: BTreeMap<Digest, PathBuf>,
    /// Its models, as workers name them.
    pub models: BTreeSet<Digest>,
    /// Demand of the stage; changes while it runs.
    pub wanted: watch::Receiver<SlotDemand>,
    /// Configuration by which workers are launched for it, where the job has workers of its own.
    pub config: &'s Config,
    /// Folder for their logs.
    pub folder: &'s RunFolder,
    /// Permission to run programs that a model wrote.
    pub programs: Programs,
    /// One slot, the worker's output on this terminal.
    pub debug: bool,
}

/// The workers of a stage.
#[derive(Debug)]
pub struct StageWorkers {
    /// Messages from them.
    pub inbound: mpsc::Receiver<Inbound>,
    /// Reports of the pools from which they are launched.
    pub pools: watch::Receiver<Vec<PoolReport>>,
    /// Reason for which launching has ended, once it has.
    pub given_up: watch::Receiver<Option<String>>,
    /// Address that workers of this job dial that are not launched, as their command line has it, if there may be any.
    pub open_at: Option<String>,
}

/// Source of the workers of a stage.
#[tonic::async_trait]
pub trait WorkerSource: Debug + Send + Sync {
    /// Returns the places where the job's models may run, in their order.
    fn placements(&self) -> &[ModelPlacement];

    /// This master leads the job from now on: its ports are open when this returns.
    ///
    /// # Errors
    /// A port is taken, or its secrets cannot be read.
    async fn open(&self) -> Result<(), InferError>;

    /// A stage is ready for workers.
    ///
    /// # Errors
    /// There is no worker to launch, or no launcher for it.
    async fn enter(&self, stage: StageRegistration<'_>) -> Result<StageWorkers, InferError>;

    /// The stage is over. Returns when workers that were launched for it alone have ended.
    async fn leave(&self, plan: &Digest);
}
