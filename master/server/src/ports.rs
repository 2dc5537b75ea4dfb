//! The ports of a master: where workers dial, and where people look.

use super::worker_dispatcher::WorkerDispatcher;
use compass_common::status_output::{print_status, print_to_terminal};
use compass_jobs::{HttpSecrets, HttpSecretsError, HttpSettings, JobRegistry};
use compass_pages::{HttpServer, ListenError};
use compass_rpc::{ServeError, Uploads, WorkerService};
use compass_run::{EndpointError, InferError, WorkerEndpoint, listen};
use compass_settings::Config;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Reason why ports cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum PortsError {
    #[error("cannot listen on {address}; another master may use it: choose another master.listen, or port 0 for any")]
    Listen {
        address: SocketAddr,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Http(#[from] ListenError),
    #[error(transparent)]
    Secrets(#[from] HttpSecretsError),
    #[error(transparent)]
    WorkerEndpoint(#[from] EndpointError),
}

impl PortsError {
    /// Returns whether the configuration must be changed first.
    pub(crate) fn is_bad_input(&self) -> bool {
        matches!(self, Self::Secrets(_))
    }
}

impl From<PortsError> for InferError {
    fn from(error: PortsError) -> Self {
        if error.is_bad_input() { Self::PortsRefused(error.into()) } else { Self::PortsFailed(error.into()) }
    }
}

/// Ports that are bound; no peer is answered yet.
#[derive(Debug)]
pub(super) struct BoundPorts {
    listener: TcpListener,
    address: SocketAddr,
    endpoint: WorkerEndpoint,
    http: Option<HttpServer>,
    pools: Vec<String>,
}

/// Ports that are served.
#[derive(Debug)]
pub(super) struct Ports {
    endpoint: WorkerEndpoint,
    hang_up: DropGuard,
    serving: JoinHandle<Result<(), ServeError>>,
    stop_showing: DropGuard,
    showing: Option<JoinHandle<()>>,
}

impl BoundPorts {
    /// Binds what `config` names.
    ///
    /// # Errors
    /// A port is taken, or its secrets cannot be read.
    pub(crate) async fn bind(config: &Config) -> Result<Self, PortsError> {
        let http = match &config.http {
            None => None,
            Some(http) => {
                let HttpSecrets { token, tls } = HttpSecrets::read(http)?;
                Some(HttpServer::open(http.address, token, tls, HttpSettings::Configuration).await?)
            }
        };
        let failed = |source| PortsError::Listen { address: config.listen, source };
        let listener = listen(config.listen, config.listen_ports).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        tracing::info!(%address, "listening for workers");
        let endpoint = WorkerEndpoint::open(config, address).await?;
        let pools = config.pools.iter().map(|pool| pool.name.clone()).collect();
        Ok(Self { listener, address, endpoint, http, pools })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn endpoint(&self) -> &WorkerEndpoint {
        &self.endpoint
    }

    /// Answers workers for `dispatcher` and readers for `registry`. `shown` is what the page shows, for the screen.
    pub(crate) fn serve(self, dispatcher: Arc<WorkerDispatcher>, registry: Arc<JobRegistry>, shown: &str) -> Ports {
        let files = dispatcher.files.clone();
        let service = WorkerService::new(dispatcher, files, Uploads::default()).of_pools(self.pools);
        let hang_up = CancellationToken::new();
        let serving = tokio::spawn(compass_rpc::serve(self.listener, self.endpoint.access(), service, hang_up.clone()));
        let stop_showing = CancellationToken::new();
        let showing = self.http.map(|http| {
            print_status(format!("{shown} shown at {}", http.url()));
            if let Some(link) = http.link() {
                print_to_terminal(format!("a browser opens it without the token, once, by {link}"));
            }
            tokio::spawn(http.serve(registry, stop_showing.clone()))
        });
        let (hang_up, stop_showing) = (hang_up.drop_guard(), stop_showing.drop_guard());
        Ports { endpoint: self.endpoint, hang_up, serving, stop_showing, showing }
    }
}

impl Ports {
    pub(crate) fn endpoint(&self) -> &WorkerEndpoint {
        &self.endpoint
    }

    /// Stops serving.
    pub(crate) async fn close(self) {
        drop(self.stop_showing);
        if let Some(showing) = self.showing {
            let _ = showing.await;
        }
        drop(self.hang_up);
        self.serving.abort();
        let _ = self.serving.await;
        self.endpoint.close().await;
    }
}
