//! Reasons why no worker can be launched: each is a sentence with what to do.

use std::path::PathBuf;
use std::time::Duration;

/// Reason for which no worker can be launched.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error(
        "cannot find compass-worker beside compass-master ({beside}) nor on PATH; build it with \
         `cargo build -p compass-worker`, or name it with COMPASS_WORKER"
    )]
    NoBinary { beside: PathBuf },
    #[error("COMPASS_WORKER names {path}, where there is no program; correct it, or unset it")]
    NoSuchWorker { path: PathBuf },
    #[error(
        "model `{model}` asks for `device = \"cuda\"`, but this host {shown}; write `device = \"auto\"` or \"cpu\""
    )]
    NoGpu { model: String, shown: String },
    #[error(
        "model `{cpu}` asks for the cpu and model `{cuda}` for cuda; one job on two devices is not yet supported: \
         run them one after the other with --models"
    )]
    TwoDevices { cpu: String, cuda: String },
    #[error("no pool takes the model `{model}`; name one of the pools in its `pools`")]
    NoPool { model: String },
    #[error(
        "model `{model}` takes {takes} GPUs (run_cfg.num_gpus), and max_gpus = {bound} leaves no room for it; raise it"
    )]
    TooFewGpus { model: String, takes: u32, bound: u32 },
    #[error("cannot start {binary}")]
    Start {
        binary: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot write the worker's log {path}")]
    Log {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Encode(#[from] compass_common::encode::EncodeError),
    #[error("there is no `{program}` on this host: {remedy}")]
    NoProgram { program: String, remedy: &'static str },
    #[error("`{program}` gave no answer within {} s", after.as_secs())]
    Silent { program: String, after: Duration },
    /// The launcher's own word, in one sentence, with what to do about it.
    #[error("{sentence}")]
    Refused { sentence: String },
    /// The service that takes jobs does not answer.
    #[error("{sentence}")]
    Unreached { sentence: String },
    #[error("cannot parse the output of `{program}`: {what}")]
    Unreadable { program: String, what: String },
}

impl LaunchError {
    /// Returns whether another try would find the same.
    pub fn is_final(&self) -> bool {
        let may_pass = matches!(self, Self::Refused { .. } | Self::Unreadable { .. });
        !may_pass && !self.is_infrastructure()
    }

    /// Returns whether the request may be right, and the services that should carry it out cannot be reached.
    pub fn is_infrastructure(&self) -> bool {
        matches!(self, Self::Silent { .. } | Self::Unreached { .. })
    }

    /// The error with its cause, in one line.
    pub fn sentence(&self) -> String {
        match std::error::Error::source(self) {
            Some(source) => format!("{self}: {source}"),
            None => self.to_string(),
        }
    }
}
