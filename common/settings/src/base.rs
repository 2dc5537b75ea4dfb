//! Settings of a master that stays.

use super::launching::PoolConfig;
use super::notify::NotifyConfig;
use super::run::{Advertised, AuthorityConfig, HttpConfig, RunnerConfig, StoreConfig};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of a master that stays. Every path is absolute.
#[derive(Clone, Debug, PartialEq)]
pub struct Base {
    pub state_dir: PathBuf,
    pub store: StoreConfig,
    /// As in a job's own configuration.
    pub worker_lease: Duration,
    pub listen: SocketAddr,
    /// Address that workers are told; `None` for this host's name and the port.
    pub advertise: Option<Advertised>,
    /// Authority that admits workers of other hosts.
    pub authority: AuthorityConfig,
    pub http: Option<HttpConfig>,
    pub runner: RunnerConfig,
    /// Pools in which workers are launched; empty leaves it to the runner.
    pub pools: Vec<PoolConfig>,
    /// Destination of the notices of every job of it.
    pub notify: Option<NotifyConfig>,
}
