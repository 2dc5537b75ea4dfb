//! The workers of one job, as the dispatcher lends them to its stages.

use super::agents::{Agents, Launching};
use super::server::Server;
use compass_run::{InferError, JobHandle, ModelPlacement, StageRegistration, StageWorkers, WorkerSource};
use compass_scheduler::broker::{JobId, JobTerms};
use compass_types::ids::Digest;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Workers that the pool lends to one job.
#[derive(Debug)]
pub(super) struct JobWorkers {
    pub server: Arc<Server>,
    pub id: JobId,
    pub priority: u32,
    /// Most slots at once.
    pub bound: Option<u32>,
    /// Its models, in their order.
    pub(super) placements: Vec<ModelPlacement>,
    pub(super) job_handle: JobHandle,
    pub(super) launched: LaunchedFor,
}

/// For whom workers are launched.
#[derive(Debug)]
pub(super) enum LaunchedFor {
    /// For all jobs of the server.
    Server(Launching),
    /// For the stage of this job that runs.
    Stage(Mutex<Option<Agents>>),
}

#[tonic::async_trait]
impl WorkerSource for JobWorkers {
    fn placements(&self) -> &[ModelPlacement] {
        &self.placements
    }

    async fn open(&self) -> Result<(), InferError> {
        match self.launched {
            // They are open, or will be as soon as every job is known.
            LaunchedFor::Server(_) => Ok(()),
            LaunchedFor::Stage(_) => self.server.open().await,
        }
    }

    async fn enter(&self, stage: StageRegistration<'_>) -> Result<StageWorkers, InferError> {
        let (launching, open_at) = match &self.launched {
            LaunchedFor::Server(launching) => (launching.clone(), None),
            LaunchedFor::Stage(agents) => {
                let ordered = self.server.with_endpoint(|endpoint| {
                    let told = compass_run::open_at(stage.config, endpoint.advertised());
                    compass_run::fleet_of_stage(&stage, endpoint).map(|autoscaler| (autoscaler, told))
                });
                let (autoscaler, told) = ordered.await??;
                let started = Agents::start(autoscaler, self.server.dispatcher.clone());
                let launching = started.launching();
                *agents.lock().await = Some(started);
                (launching, told)
            }
        };
        let everyone = matches!(self.launched, LaunchedFor::Stage(_));
        let terms = JobTerms { weight: self.priority, bound: self.bound, models: stage.models, everyone };
        let dispatcher = &self.server.dispatcher;
        let inbound = dispatcher.enter((&self.id, terms, &self.job_handle), stage.plan, stage.files, stage.wanted);
        Ok(StageWorkers { inbound, pools: launching.pools, given_up: launching.given_up, open_at })
    }

    async fn leave(&self, plan: &Digest) {
        self.server.dispatcher.leave(&self.id, plan);
        if let LaunchedFor::Stage(agents) = &self.launched
            && let Some(agents) = agents.lock().await.take()
        {
            agents.end().await;
        }
    }
}
