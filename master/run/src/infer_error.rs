//! Errors that stop the inference stage.

use super::drive_error::DriveError;
use compass_common::encode::EncodeError;
use compass_ledger::{CommitError, LedgerError, OwnerError};
use compass_plan::partition::PartitionError;
use compass_rpc::KeyError;
use compass_run_folder::{FolderError, PlanError};
use compass_store::StoreError;
use std::error::Error;
use std::path::PathBuf;

/// Reason for which the stage did not end.
#[derive(Debug, thiserror::Error)]
pub enum InferError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Drive(#[from] DriveError),
    #[error(transparent)]
    Partition(#[from] PartitionError),
    #[error(transparent)]
    Launch(#[from] compass_launch::LaunchError),
    /// The addresses, secrets or certificates of the configuration cannot be used.
    #[error(transparent)]
    PortsRefused(Box<dyn Error + Send + Sync>),
    /// The ports cannot be opened.
    #[error(transparent)]
    PortsFailed(Box<dyn Error + Send + Sync>),
    #[error("{holder} leads this job in another run folder: {folder}")]
    Elsewhere { holder: String, folder: PathBuf },
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Encode(#[from] EncodeError),
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
}

impl InferError {
    /// Returns whether another master leads now, and this one may do nothing more.
    pub fn is_leadership_lost(&self) -> bool {
        let store = match self {
            Self::Store(error) => error,
            Self::Drive(DriveError::Commit(error)) => match &**error {
                CommitError::Store(error) => error,
                CommitError::Ledger(error) => return matches!(error, LedgerError::Owner(OwnerError::Taken { .. })),
            },
            _ => return false,
        };
        matches!(store, StoreError::Fenced(_))
    }
}
