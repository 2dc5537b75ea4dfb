//! What a master has one of, whatever the number of its jobs.

use super::job_workers::{JobWorkers, LaunchedFor};
use super::lobby::Lobby;
use super::ports::{BoundPorts, Ports};
use crate::control::{ControlService, Office, Socket};
use crate::job::{self, Failure, JobRequest, OpenedRun, Place};
use crate::pipeline::{Desk, Entrance, InferError, Residence};
use compass_config::Config;
use compass_scheduler::broker::JobId;
use std::sync::Arc;
use tokio::sync::{Mutex, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// Listener, launched workers, control socket and page of one master process.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) lobby: Arc<Lobby>,
    pub(super) office: Arc<Office>,
    /// Where it listens, and under which names.
    config: Config,
    /// What its page shows, for the screen.
    shown: &'static str,
    ports: Mutex<Option<Ports>>,
    stop: DropGuard,
    /// What runs until it is stopped.
    tasks: TaskTracker,
}

/// A job to run, and with which workers.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) id: JobId,
    pub(super) config: Config,
    pub(super) request: JobRequest,
    pub(super) opened: OpenedRun,
    pub(super) desk: Desk,
    pub(super) priority: u32,
    /// Most slots at once.
    pub(super) bound: Option<u32>,
    pub(super) residences: Vec<Residence>,
    pub(super) launched: LaunchedFor,
}

impl Server {
    /// A server whose ports are closed yet.
    pub(super) fn new(config: Config, shown: &'static str) -> Arc<Self> {
        let (lobby, stop, tasks) = (Lobby::new(), CancellationToken::new(), TaskTracker::new());
        tasks.spawn(lobby.clone().run(stop.clone()));
        let (office, ports, stop) = (Arc::default(), Mutex::default(), stop.drop_guard());
        Arc::new(Self { lobby, office, config, shown, ports, stop, tasks })
    }

    /// Answers commands that come through this socket, until it is closed.
    pub(super) fn answer(&self, socket: Socket) {
        let service = ControlService::new(self.office.clone());
        self.tasks.spawn(socket.serve(service, self.stop.token().clone()));
    }

    /// Opens the ports, unless they are open.
    ///
    /// # Errors
    /// A port is taken, or its secrets cannot be read.
    pub(super) async fn open(&self) -> Result<(), InferError> {
        let mut ports = self.ports.lock().await;
        if ports.is_none() {
            *ports = Some(self.serving(BoundPorts::bind(&self.config).await?));
        }
        Ok(())
    }

    /// Answers at ports that were bound before.
    pub(super) async fn open_at(&self, bound: BoundPorts) {
        *self.ports.lock().await = Some(self.serving(bound));
    }

    fn serving(&self, bound: BoundPorts) -> Ports {
        bound.serve(self.lobby.clone(), self.office.clone(), self.shown)
    }

    /// Asks where workers find this master. The ports are opened for it where they are closed.
    ///
    /// # Errors
    /// As for opening them.
    pub(super) async fn with_entrance<T>(&self, ask: impl FnOnce(&Entrance) -> T) -> Result<T, InferError> {
        let mut ports = self.ports.lock().await;
        let open = match ports.take() {
            Some(open) => open,
            None => self.serving(BoundPorts::bind(&self.config).await?),
        };
        Ok(ask(ports.insert(open).entrance()))
    }

    /// Runs a job to its end and returns the exit code. `interrupted` turns to the code of a signal that asks to stop.
    ///
    /// # Errors
    /// What stopped it; all that was recorded stays, and the run can be resumed.
    pub(super) async fn run(
        self: &Arc<Self>,
        job: Job,
        interrupted: watch::Receiver<Option<u8>>,
    ) -> Result<u8, Failure> {
        let Job { id, config, request, opened, desk, priority, bound, residences, launched } = job;
        let (server, workers_stay) = (self.clone(), matches!(launched, LaunchedFor::Server(_)));
        let workers = JobWorkers { server, id, priority, bound, residences, desk: desk.clone(), launched };
        let place = Place { desk, source: Arc::new(workers), workers_stay };
        Box::pin(job::run(config, &request, &opened, &place, interrupted)).await
    }

    /// Commands are answered no more, and workers are not shared out.
    pub(super) async fn stop(&self) {
        self.stop.token().cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// The ports are closed.
    pub(super) async fn close(&self) {
        if let Some(ports) = self.ports.lock().await.take() {
            ports.close().await;
        }
    }
}
