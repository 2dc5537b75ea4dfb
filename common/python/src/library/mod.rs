//! Library code: modules of a tree that a program did not ship with, evaluated to run one function of one class.
//!
//! Modules are evaluated lazily, each once, and what one of their statements cannot do here is an error only where its name is
//! used. What is imported from other packages is a symbol, as in configurations; using one is an error at its place.

mod closure;
mod function;
mod load;
mod tree;

pub use closure::{Modules, trace_function};
pub use function::link_interpreter;
pub use load::{LibraryCall, LibraryFault, LibraryLoad, LoadedSplit, load_rows};
pub(crate) use tree::{Tree, not_evaluated};

use crate::host::Host;
use std::path::{Path, PathBuf};

/// A module of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibrarySource {
    pub path: PathBuf,
    pub text: String,
    /// Set if it is the `__init__.py` of a package.
    pub is_package: bool,
}

/// Kind of what is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Folder,
}

/// Reason why a file is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileFault {
    /// It is not there; the path that was looked for.
    Missing(PathBuf),
    /// It may not be read.
    Refused(String),
    Other(String),
}

/// Request to `load_dataset`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableRequest {
    /// A kind of files (`json`, `csv`, ...), a folder, or a repository of the hub.
    pub path: String,
    pub name: Option<String>,
    pub data_dir: Option<String>,
    pub revision: Option<String>,
    /// Files by their split.
    pub files: Vec<(String, Vec<String>)>,
}

/// Rows by the names of their splits.
pub type Tables = Vec<(String, Vec<serde_json::Map<String, serde_json::Value>>)>;

/// The world of library code. Everything that is read comes through here.
pub trait Library: Host + Sync {
    /// The file of a module, `opencompass.datasets.cmrc`; `None` where the tree has none.
    fn module(&self, dotted: &str) -> Option<LibrarySource>;

    /// The bytes of a file.
    ///
    /// # Errors
    /// It is not there, or may not be read.
    fn bytes(&self, path: &Path) -> Result<Vec<u8>, FileFault>;

    /// Returns the kind of what is at a path that may be read.
    fn kind(&self, path: &Path) -> Option<FileKind>;

    /// Names in a folder, in order.
    ///
    /// # Errors
    /// It is not there, or may not be read.
    fn list(&self, path: &Path) -> Result<Vec<String>, FileFault>;

    /// Returns the path of the data that a loader names by a relative path.
    ///
    /// # Errors
    /// It is nowhere.
    fn data(&self, path: &str) -> Result<PathBuf, FileFault>;

    /// The tables of `load_dataset`: all of them, or the one of `split` alone where that is cheaper.
    ///
    /// # Errors
    /// They are not there, or not in a form that is read.
    fn tables(&self, request: &TableRequest, split: Option<&str>) -> Result<Tables, FileFault>;
}
