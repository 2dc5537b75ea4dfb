//! Rows of loader classes that the table does not know, read by a program that can run the class.
//!
//! Nothing is run here. The program gives an implementation in `PythonWorld`: it reads the class's own
//! source without Python, or asks an interpreter that the user names, and leaves the rows in files.

use super::remote::Remote;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One data set of a configuration: its class, and what the class is given.
#[derive(Clone, Debug, PartialEq)]
pub struct LoaderCall {
    /// `opencompass.datasets.CMRCDataset`, as the configuration names it.
    pub class: String,
    /// Arguments with which `load` is called, by name.
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// Names of the splits whose rows are needed, each once.
    pub splits: Vec<String>,
}

/// Places where a loader looks for the class and for its data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoaderWorld {
    /// The configuration that is read.
    pub config: PathBuf,
    /// Folders that hold `configs`, `datasets` and the rest of the package `opencompass`, the first one first.
    pub trees: Vec<PathBuf>,
    /// Folder where data sets are looked for: `./data/...` of OpenCompass is relative to its parent.
    pub data_dir: PathBuf,
    /// The hub's local caches.
    pub hub_caches: Vec<PathBuf>,
    /// Access to data sets that are in none of them.
    pub remote: Option<Remote>,
    /// Variables of the environment.
    pub variables: Vec<(String, String)>,
    /// The user's own Python, where one may be asked.
    pub interpreter: Option<Interpreter>,
}

/// A Python in whose environment OpenCompass is installed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interpreter {
    /// A path, or a name on the `PATH`.
    pub program: PathBuf,
    /// Set if it may use the network.
    pub network: bool,
}

/// The rows of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedRows {
    /// A file of JSON lines for each split that was asked for; the keys of a line stand in the order of the columns.
    pub splits: Vec<(String, PathBuf)>,
    /// Reader of the rows and their number, for the screen.
    pub said: String,
}

/// Reason why a class gives no rows, and what to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoRows {
    pub reason: String,
    pub help: Option<String>,
}

/// Definitions of a configuration in Python, as evaluated by a program that runs Python.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatedConfiguration {
    /// `{"dict": [[name, value], ...]}`: what JSON cannot tell apart is an object with one key, which says what it is.
    pub names: serde_json::Value,
    /// Description of the evaluator, for the screen.
    pub said: String,
}

/// Runs loader classes.
pub trait RowLoader: Debug + Send + Sync {
    /// The rows of all `calls` of a configuration, which are asked for at once; as many results, in their order.
    fn load(&self, world: &LoaderWorld, calls: &[LoaderCall]) -> Vec<Result<LoadedRows, NoRows>>;

    /// The configuration of `world`, which could not be evaluated here; `None` where there is no other way.
    fn configuration(&self, _world: &LoaderWorld) -> Option<Result<EvaluatedConfiguration, NoRows>> {
        None
    }
}

/// The loader of a program; two are equal when they are the same.
#[derive(Clone, Debug)]
pub struct Loader(pub Arc<dyn RowLoader>);

impl PartialEq for Loader {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Loader {}

impl LoadedRows {
    /// The file of a split.
    pub fn file(&self, split: &str) -> Option<&Path> {
        self.splits.iter().find(|(name, _)| name == split).map(|(_, path)| path.as_path())
    }
}

/// Returns `true` if a name is that of something in a module of the user's own, which is outside of OpenCompass.
pub fn is_own(written: &str) -> bool {
    written.contains('.') && !written.starts_with("opencompass.")
}
