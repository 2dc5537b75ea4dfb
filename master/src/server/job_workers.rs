//! The workers of one job, as the lobby lends them to its stages.

use super::agents::{Agents, Launching};
use super::server::Server;
use crate::pipeline::{self, Desk, InferError, Residence, StageRegistration, StageWorkers, WorkerSource};
use compass_scheduler::broker::{JobId, Terms};
use compass_types::ids::Digest;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Workers that the pool lends to one job.
#[derive(Debug)]
pub(super) struct JobWorkers {
    pub(super) server: Arc<Server>,
    pub(super) id: JobId,
    pub(super) priority: u32,
    /// Most slots at once.
    pub(super) bound: Option<u32>,
    /// Its models, in their order.
    pub(super) residences: Vec<Residence>,
    pub(super) desk: Desk,
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
    fn residences(&self) -> &[Residence] {
        &self.residences
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
                let ordered = self.server.with_entrance(|entrance| {
                    let told = pipeline::comes_by_itself(stage.config).then(|| entrance.advertised().to_owned());
                    pipeline::fleet_of_stage(&stage, entrance).map(|fleet| (fleet, told))
                });
                let (fleet, told) = ordered.await??;
                let started = Agents::start(fleet, self.server.lobby.clone());
                let launching = started.launching();
                *agents.lock().await = Some(started);
                (launching, told)
            }
        };
        let everyone = matches!(self.launched, LaunchedFor::Stage(_));
        let terms = Terms { weight: self.priority, bound: self.bound, models: stage.models, everyone };
        let lobby = &self.server.lobby;
        let inbound = lobby.enter((&self.id, terms, &self.desk), stage.plan, stage.files, stage.wanted);
        Ok(StageWorkers { inbound, pools: launching.pools, given_up: launching.given_up, open_at })
    }

    async fn leave(&self, plan: &Digest) {
        self.server.lobby.leave(&self.id, plan);
        if let LaunchedFor::Stage(agents) = &self.launched
            && let Some(agents) = agents.lock().await.take()
        {
            agents.end().await;
        }
    }
}
