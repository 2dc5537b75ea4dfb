//! Errors of planning, and of reading a plan.

use super::folder::FolderError;
use compass_common::descriptors::is_exhaustion;
use compass_common::encode::EncodeError;
use compass_diagnostic::Diagnostic;
use compass_plan::PLAN_FORMAT;
use std::path::{Path, PathBuf};

/// Reason why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Everything that is wrong with the data.
    #[error("{}", messages(.0))]
    Data(Vec<Diagnostic>),
    /// The host lacks what reading takes, whatever is in the files.
    #[error("cannot read {path}")]
    Host {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// As [`PlanError::Data`], where some file could not be opened for lack of file descriptors.
    #[error("{}", messages(.0))]
    DataWithoutDescriptors(Vec<Diagnostic>),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Encode(#[from] EncodeError),
    #[error("cannot compress a part of the plan")]
    Compress(#[source] std::io::Error),
    #[error(
        "cannot read the plan {path}: {reason}; restore the file from a copy of the run, or start a fresh run (leave -r out)"
    )]
    Damaged { path: PathBuf, reason: String },
    #[error(
        "the run {run} was planned by format {found}, this master reads format {PLAN_FORMAT}; resume it with the version that began it"
    )]
    Format { run: String, found: u32 },
}

fn messages(faults: &[Diagnostic]) -> String {
    faults.iter().map(|fault| fault.message.as_str()).collect::<Vec<_>>().join("\n")
}

impl PlanError {
    /// A file of the plan that cannot be read.
    pub fn unreadable(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        match is_exhaustion(&source) {
            true => Self::Host { path, source },
            false => Self::Damaged { path, reason: source.to_string() },
        }
    }
}
