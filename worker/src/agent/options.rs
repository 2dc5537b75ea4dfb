//! What an agent is told when it starts.

use crate::dial::Proxies;
use crate::engine_child::sees_gpu;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// The parsed command line of an agent.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// `host:port` of every master that may lead; never empty.
    pub masters: Vec<String>,
    /// The file with the join token; `None` looks where masters of this home leave theirs.
    pub token_file: Option<PathBuf>,
    /// Whether masters on loopback are spoken to without encryption and token: tests play such.
    pub plain_loopback: bool,
    /// Through what masters are reached.
    pub proxies: Proxies,
    /// `auto`, `cpu` or `cuda:N`; every slot uses the same.
    pub device: String,
    /// Engines at once.
    pub slots: u32,
    /// Unique among the master's workers.
    pub name: String,
    /// The pool that it works for; empty where nobody said one.
    pub pool: String,
    /// When the launcher will end this process: the agent goes before.
    pub leaves_at: Option<SystemTime>,
    /// Why there is nothing to do for this process: another one of its node does it.
    pub stands_back: Option<String>,
    /// Threads within one engine.
    pub threads: u32,
    /// How long to go on without a word from any master.
    pub master_lost_timeout: Duration,
    /// Whether the end of standard input ends the agent.
    pub exit_with_parent: bool,
    /// Whether programs that a model wrote may be run here.
    pub programs: ProgramPolicy,
}

/// What the operator says of programs that a model wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramPolicy {
    /// None are run, and nobody looks whether they could be.
    Never,
    /// Where an isolation holds them.
    Contained,
    /// Where none does, as plain processes.
    Unsafe,
}

impl AgentOptions {
    /// `cpu` or `cuda`, as far as one can tell without a tensor library: the engine has the last word.
    pub(super) fn device_kind(&self) -> &'static str {
        match self.device.as_str() {
            "cpu" => "cpu",
            "auto" if !sees_gpu() => "cpu",
            _ => "cuda",
        }
    }
}
