//! Reasons for which a store did not do what it was asked.

use compass_common::encode::EncodeError;
use compass_types::ids::Epoch;
use std::path::PathBuf;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Reason for which a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another master leads this run now.
    #[error(
        "another master works on this run: {holder}. Wait for it to end, or stop it; its run can then be resumed with -r"
    )]
    Held { holder: String },
    /// This master no longer leads.
    #[error("the leadership of epoch {0} is over; another master has taken the run")]
    Fenced(Epoch),
    /// The state directory cannot hold a store.
    #[error(
        "the state directory {path} is on a network file system, where file locks do not hold; set master.state_dir to a disk on this host"
    )]
    NetworkFileSystem { path: PathBuf },
    /// The file is there and is no store.
    #[error("the store {path} is damaged; remove it and resume: the run folder alone tells what is done")]
    Damaged {
        path: PathBuf,
        #[source]
        source: Cause,
    },
    /// Reading or writing failed.
    #[error("cannot {action} the store {path}")]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: Cause,
    },
    /// No server of the store answers.
    #[error(
        "the store at {endpoints} does not answer; start etcd there, correct `store` in [master], or write `store = \"embedded\"`"
    )]
    Unreachable {
        endpoints: String,
        #[source]
        source: Cause,
    },
    /// The store has no room for writes.
    #[error(
        "the store at {endpoints} is full (its NOSPACE alarm is raised); compact and defragment it, then disarm the alarm"
    )]
    Full { endpoints: String },
    /// The store will not have this client.
    #[error(
        "the store at {endpoints} refuses this master; correct user and password_file in [master.etcd], or the user's rights"
    )]
    Refused {
        endpoints: String,
        #[source]
        source: Cause,
    },
    /// The two do not understand each other: encryption here and none there, or an untrusted certificate.
    #[error("no encrypted connection to the store at {endpoints}; correct ca, cert and key in [master.etcd]")]
    Tls {
        endpoints: String,
        #[source]
        source: Cause,
    },
    /// A file that [master.etcd] names.
    #[error("cannot read `{key}` of [master.etcd]: {path}")]
    Secret {
        key: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The server understood, and said no.
    #[error("etcd at {endpoints} rejected the request")]
    Rejected {
        endpoints: String,
        #[source]
        source: Cause,
    },
    /// A key of a shared store holds what this version does not read. To wait does not help.
    #[error(
        "cannot read the key {key} of the store at {endpoints}: it does not hold {expected}\nhelp: stop masters of other \
         versions that work on this run; if there are none the key is damaged, so remove it: etcdctl del {key} ({then})"
    )]
    DamagedKey { endpoints: String, key: String, expected: &'static str, then: &'static str },
    /// A record that cannot be written down.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// More writes than one transaction takes.
    #[error("a transaction of {0} writes; the store takes {max} at most", max = super::transaction::MAX_OPS)]
    TooLarge(usize),
    /// The system gives no thread for what keeps the lease alive, or for clients.
    #[error("cannot start a thread for the store")]
    Thread(#[source] std::io::Error),
}

impl StoreError {
    /// Returns whether the same call may succeed later, with nothing changed here.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Full { .. })
    }

    /// Returns whether the configuration is to blame.
    pub fn is_bad_input(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Tls { .. } | Self::Secret { .. } | Self::Encode(_))
    }
}
