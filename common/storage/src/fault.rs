//! Failures to get files that are elsewhere: what, where, and what to check.

/// Kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The configuration here is missing or wrong: a profile, a variable, an address.
    Configuration,
    /// Nothing lies there.
    Missing,
    /// The credentials are not accepted, or do not suffice.
    Denied,
    /// The content there has changed since it was listed.
    Changed,
    /// The endpoint does not answer as it should; another try may succeed.
    Unavailable,
    /// The cache on this node cannot take it.
    Cache,
}

/// A failure in words. No secret is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StorageFault {
    pub kind: FaultKind,
    /// One sentence with the profile, the endpoint, the bucket and the key.
    pub message: String,
    /// Advice on what to do.
    pub help: String,
}

impl StorageFault {
    pub(crate) fn new(kind: FaultKind, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: help.into() }
    }

    /// The message and the remedy in one line, for logs and for what a worker reports.
    pub fn with_help(&self) -> String {
        format!("{}; help: {}", self.message, self.help)
    }

    /// Returns whether another try may succeed without a person.
    pub fn may_be_retried(&self) -> bool {
        self.kind == FaultKind::Unavailable
    }
}

/// A failure of the cache's disk.
pub(crate) fn disk(what: &str, path: &std::path::Path, error: &std::io::Error) -> StorageFault {
    let help = match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            "free the disk, lower --storage-cache-limit, or name a folder on another disk with --storage-cache"
        }
        _ => "name a folder on this node that can be written to with --storage-cache (COMPASS_STORAGE_CACHE)",
    };
    StorageFault::new(FaultKind::Cache, format!("cannot {what} {}: {error}", path.display()), help)
}
