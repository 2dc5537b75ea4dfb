//! Models and data that are not in a directory on this host: in an object store, or on the hub.
//!
//! Nothing is fetched here. A program gives an implementation in `Overrides::remote`; without
//! one such paths are refused.

use compass_plan::ModelKind;
use compass_plan::weights::FileMark;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reason why files cannot be had, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteFault {
    pub message: String,
    pub help: String,
}

/// Picks some of the names of a repository's files, or says in words why there are none.
pub type Choose<'c> = dyn Fn(&[String]) -> Result<Vec<String>, String> + 'c;

/// Finds files that are elsewhere.
pub trait RemoteFiles: Debug + Send + Sync {
    /// The folder of a model or of a tokenizer: `profile:s3://bucket/prefix`, `s3://bucket/prefix`, `hub:owner/name@revision`.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn folder(&self, path: &str) -> Result<Arc<dyn RemoteFolder>, RemoteFault>;

    /// An adapter: what workers fetch, as it stands in the plan, and a copy of it on this node.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn adapter(&self, path: &str) -> Result<(String, PathBuf), RemoteFault>;

    /// A copy on this node of the data at `path`, which may end in a pattern or in a slash as a local path may.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn data(&self, path: &str) -> Result<PathBuf, RemoteFault>;

    /// A folder on this node that lies as the data set `repository` of the hub does, with those of its files that `choose` picks
    /// from the names of all.
    ///
    /// # Errors
    /// Why it cannot be had; what `choose` says.
    fn dataset(&self, repository: &str, revision: &str, choose: &Choose<'_>) -> Result<PathBuf, RemoteFault>;

    /// Returns why the hub is not asked; `None` if it is.
    fn offline(&self) -> Option<String>;
}

/// A folder that is elsewhere.
pub trait RemoteFolder: Debug + Send + Sync {
    /// Returns what workers fetch, as it is in the plan.
    fn location(&self) -> String;

    /// A directory on this host with its small files: configuration and tokenizer, no weights.
    fn small(&self) -> &Path;

    /// Returns `true` if there is a file of this name.
    fn has(&self, name: &str) -> bool;

    /// The names of its files.
    fn names(&self) -> Vec<String>;

    /// Returns the marks by which the weights are known, as they would be of a copy.
    ///
    /// # Errors
    /// Why they cannot be read.
    fn weights(&self, kind: ModelKind) -> Result<BTreeMap<String, FileMark>, RemoteFault>;
}

/// The implementation of a program; two are equal when they are the same.
#[derive(Clone, Debug)]
pub struct Remote(pub Arc<dyn RemoteFiles>);

impl PartialEq for Remote {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Remote {}

/// The directories of a model of which the planner reads small files, where the model itself is elsewhere.
#[derive(Clone, Debug)]
pub struct RemoteModel {
    /// `None` where only the tokenizer is elsewhere.
    pub folder: Option<Arc<dyn RemoteFolder>>,
    /// Directory on this host with config.json.
    pub path: PathBuf,
    /// Directory on this host with the tokenizer's files.
    pub tokenizer_path: PathBuf,
}

impl PartialEq for RemoteModel {
    fn eq(&self, other: &Self) -> bool {
        let location = |model: &Self| model.folder.as_ref().map(|folder| folder.location());
        location(self) == location(other) && (&self.path, &self.tokenizer_path) == (&other.path, &other.tokenizer_path)
    }
}

/// Returns `true` if a path is in an object store.
pub fn is_on_s3(path: &str) -> bool {
    path.contains("s3://")
}
