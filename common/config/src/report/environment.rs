//! The surroundings of a check: what the command line and the environment say of how a configuration is read.

use compass_settings::{Loader, Remote};
use std::path::PathBuf;

/// Folders, services and switches that hold for all tables.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    /// The folder that `~` stands for.
    pub(crate) home: Option<PathBuf>,
    /// The folders of the hub's local caches, where the environment names any.
    pub(crate) hub_caches: Vec<PathBuf>,
    /// Finds what is in object stores and on the hub.
    pub(crate) remote: Option<Remote>,
    /// Surroundings of configurations in Python.
    pub(crate) python: PythonWorld,
    /// The folder of the data that the command line or the environment names.
    pub(crate) flagged_dir: Option<PathBuf>,
    /// The folder in which the paths of presets begin.
    pub(crate) data_root: PathBuf,
    /// Prefixes of paths that pools have under another name: files there need not be here.
    pub(crate) elsewhere: Vec<(String, String)>,
    /// Nothing will be started: a missing file that a run would be refused for is a note.
    pub(crate) plans_only: bool,
    /// Only results that a run has are scored: the files that they were computed from may be gone.
    pub(crate) scores_only: bool,
    /// Models and data sets that are not served are left out and do not stop the job.
    pub(crate) skip_unsupported: bool,
    /// Runs of everything that is generated, by the command line.
    pub(crate) num_runs: Option<u32>,
}

impl Environment {
    /// Folders in which repositories of the Hugging Face hub are looked for, in order.
    pub(crate) fn hub_caches(&self) -> Vec<PathBuf> {
        if !self.hub_caches.is_empty() {
            return self.hub_caches.clone();
        }
        self.home.as_ref().map(|home| home.join(".cache/huggingface/hub")).into_iter().collect()
    }
}

/// Places where a configuration finds what it imports, beside its own folder. Plain data: the command line fills it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonWorld {
    /// `--opencompass`: the folder that holds the package `opencompass`, the package itself, or its folder `configs`.
    pub opencompass: Option<PathBuf>,
    /// Folders of active Python environments (`VIRTUAL_ENV`, `CONDA_PREFIX`).
    pub environments: Vec<PathBuf>,
    /// Variables of the environment, which configurations may ask for.
    pub variables: Vec<(String, String)>,
    /// `--python`: the user's own Python, which reads what cannot be read without it. A path, or a name on the `PATH`.
    pub interpreter: Option<PathBuf>,
    /// `--python-network`: whether it may use the network.
    pub network: bool,
    /// Runs loader classes that the table of splits does not know.
    pub loader: Option<Loader>,
}
