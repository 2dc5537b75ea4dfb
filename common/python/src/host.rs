//! Questions that an evaluation may ask of the world.

use crate::library::FileKind;
use std::path::{Path, PathBuf};

/// Target of an import of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Imported {
    /// Another file: its path, as it is to be shown, and its text.
    Source { path: PathBuf, text: String },
    /// A file that stands for another: whatever name is imported from it is its value `name`.
    Value { path: PathBuf, text: String, name: String },
    /// Nothing, with the reason and what to do.
    Missing { reason: String, help: Option<String> },
}

/// The world of an evaluation. Everything that is read comes through here.
pub trait Host {
    /// The file behind `from {dots}{module} import ...` in a `with read_base():` of `file`; `level` counts the dots.
    fn base(&self, file: &Path, level: u32, module: &str) -> Imported;

    /// Reads a file that `open` asks for, as text. The error is the reason why it may not be read, or cannot; for a missing file, the
    /// system's message: `No such file or directory`.
    fn read(&self, path: &Path) -> Result<String, String>;

    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;

    /// Returns the kind of what is at a path; `None` where there is nothing, or where it may not be known.
    fn path_kind(&self, path: &Path) -> Option<FileKind> {
        self.read(path).is_ok().then_some(FileKind::File)
    }

    /// The folder that relative paths begin at; `None` where an evaluation may not know it.
    fn current_folder(&self) -> Option<PathBuf> {
        None
    }

    /// Returns the remedy for a key that a dict written in `file` does not have; `None` where none is known.
    fn missing_key(&self, _file: &Path, _key: &str) -> Option<String> {
        None
    }
}
