//! The parts of which a master has one, whatever the number of its jobs.

use super::ports::{BoundPorts, Ports};
use super::worker_dispatcher::WorkerDispatcher;
use compass_jobs::{ControlService, JobRegistry, Socket};
use compass_run::{InferError, WorkerEndpoint};
use compass_settings::Config;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// Listener, launched workers, control socket and page of one master process.
#[derive(Debug)]
pub(super) struct Server {
    pub dispatcher: Arc<WorkerDispatcher>,
    pub registry: Arc<JobRegistry>,
    /// Addresses at which it listens, and the names under which it does.
    config: Config,
    /// Content of its page, for the screen.
    shown: &'static str,
    ports: Mutex<Option<Ports>>,
    stop: DropGuard,
    /// Tasks that run until it is stopped.
    tasks: TaskTracker,
}

impl Server {
    /// A server whose ports are closed yet.
    pub(crate) fn new(config: Config, shown: &'static str) -> Arc<Self> {
        let (dispatcher, stop, tasks) = (WorkerDispatcher::new(), CancellationToken::new(), TaskTracker::new());
        tasks.spawn(dispatcher.clone().run(stop.clone()));
        let (registry, ports, stop) = (Arc::default(), Mutex::default(), stop.drop_guard());
        Arc::new(Self { dispatcher, registry, config, shown, ports, stop, tasks })
    }

    /// Answers commands that come through this socket, until it is closed.
    pub(crate) fn answer(&self, socket: Socket) {
        let service = ControlService::new(self.registry.clone());
        self.tasks.spawn(socket.serve(service, self.stop.token().clone()));
    }

    /// Opens the ports, unless they are open.
    ///
    /// # Errors
    /// A port is taken, or its secrets cannot be read.
    pub(crate) async fn open(&self) -> Result<(), InferError> {
        let mut ports = self.ports.lock().await;
        if ports.is_none() {
            *ports = Some(self.serving(BoundPorts::bind(&self.config).await?));
        }
        Ok(())
    }

    /// Answers at ports that were bound before.
    pub(crate) async fn open_at(&self, bound: BoundPorts) {
        *self.ports.lock().await = Some(self.serving(bound));
    }

    fn serving(&self, bound: BoundPorts) -> Ports {
        self.registry.opened_at(bound.endpoint().advertised().to_owned());
        bound.serve(self.dispatcher.clone(), self.registry.clone(), self.shown)
    }

    /// JobCommands where workers find this master. The ports are opened for it where they are closed.
    ///
    /// # Errors
    /// As for opening them.
    pub(super) async fn with_endpoint<T>(&self, ask: impl FnOnce(&WorkerEndpoint) -> T) -> Result<T, InferError> {
        let mut ports = self.ports.lock().await;
        let open = match ports.take() {
            Some(open) => open,
            None => self.serving(BoundPorts::bind(&self.config).await?),
        };
        Ok(ask(ports.insert(open).endpoint()))
    }

    /// Commands are answered no more, and workers are not shared out.
    pub(crate) async fn stop(&self) {
        self.stop.token().cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// The ports are closed.
    pub(crate) async fn close(&self) {
        if let Some(ports) = self.ports.lock().await.take() {
            ports.close().await;
        }
    }
}
