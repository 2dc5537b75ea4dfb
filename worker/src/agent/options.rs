//! Options of an agent.

use crate::dial::Proxies;
use crate::engine_child::EngineOptions;
use compass_common::gpu_files::{hides_all, sees_gpu};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// The parsed command line of an agent.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// `host:port` of every master; never empty.
    pub masters: Vec<String>,
    /// File with the join token; `None` searches where masters of this home write theirs.
    pub token_file: Option<PathBuf>,
    /// Set if masters on loopback are reached without encryption and token: for fake masters of tests.
    pub plain_loopback: bool,
    /// Proxies to the masters.
    pub proxies: Proxies,
    /// `auto`, `cpu` or `cuda:N`, for every slot.
    pub device: String,
    /// Number of engines.
    pub slots: u32,
    /// Unique among the master's workers.
    pub name: String,
    /// Pool of the worker; empty if none was given.
    pub pool: String,
    /// Time at which the launcher ends this process: the agent exits before.
    pub ends_at: Option<SystemTime>,
    /// Reason why this process has no work; another process of its node does it.
    pub idle_reason: Option<String>,
    /// Options of every engine.
    pub engine: EngineOptions,
    /// Time without an answer from any master after which the agent exits.
    pub master_lost_timeout: Duration,
    /// Set if EOF on stdin ends the agent.
    pub exit_with_parent: bool,
    /// Permission for model-written programs to run here.
    pub programs: ProgramPolicy,
}

/// The operator's policy for model-written programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramPolicy {
    /// Run none, and do not test for a sandbox.
    Never,
    /// Run them if an isolation works.
    Contained,
    /// Run them as plain processes if no isolation works.
    Unsafe,
}

impl AgentOptions {
    /// Returns `cpu` or `cuda`, a guess without a tensor library: the engine decides.
    pub(super) fn device_kind(&self) -> &'static str {
        match self.device.as_str() {
            "cpu" => "cpu",
            "auto" if !sees_gpu() || std::env::var("CUDA_VISIBLE_DEVICES").is_ok_and(|list| hides_all(&list)) => "cpu",
            _ => "cuda",
        }
    }
}
