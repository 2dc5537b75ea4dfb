//! Errors of reading and writing a ledger.

use super::owner::OwnerError;
use std::io;
use std::path::PathBuf;

/// Reason why a ledger cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// An entry that cannot be written down.
    #[error(transparent)]
    Encode(#[from] compass_common::encode::EncodeError),
    #[error("cannot {action} the ledger segment {path}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "the ledger segment {path} is corrupt at byte {offset} of {recorded} recorded as durable; \
         restore the file, or remove it to run its samples again"
    )]
    Corrupt { path: PathBuf, offset: u64, recorded: u64 },
    #[error("no leader wrote the ledger segment {path}: its epoch is beyond what a run can reach; remove the file")]
    ImpossibleEpoch { path: PathBuf },
    #[error(
        "the ledger segment {path} belongs to another plan than plan/job.json: the one was changed, or the other comes \
         from another run; restore the file that is wrong, or start a fresh run"
    )]
    ForeignPlan { path: PathBuf },
    #[error("{path} cannot be read; restore it, or remove it: then every segment counts as far as its checksums hold")]
    Seal { path: PathBuf, source: serde_json::Error },
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// Results would be acknowledged that no one finds again.
    #[error(
        "the ledger segment {path} {change} while this master wrote to it: what it recorded there is lost with it, and \
         nothing more was acknowledged"
    )]
    Vanished { path: PathBuf, change: Change },
}

/// Fate of an open segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Gone,
    Replaced,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Gone => "is not there any more; it was deleted or moved",
            Self::Replaced => "was replaced by another file",
        })
    }
}
