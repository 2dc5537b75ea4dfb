//! Observations of an evaluation about the world: enough to tell whether it would see the same again.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// One look at the world, and what it showed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Look {
    /// The digest of a file of source.
    Source(PathBuf),
    /// The digest of a data file.
    Data(PathBuf),
    /// The kind of file at a path.
    Kind(PathBuf),
    /// The names in a folder.
    Names(PathBuf),
    /// A variable of the environment.
    Variable(String),
}

impl Look {
    /// Makes the observation now; `None` where there is nothing.
    pub(crate) fn now(&self, variables: &[(String, String)]) -> Option<String> {
        match self {
            Self::Source(path) | Self::Data(path) => digest(path),
            Self::Kind(path) => kind(path).map(str::to_owned),
            Self::Names(path) => names(path).map(|names| names.join("\n")),
            Self::Variable(name) => variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()),
        }
    }
}

/// The digest of a file's bytes.
pub(crate) fn digest(path: &Path) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    let mut file = compass_common::regular_file::open(path).ok()?;
    std::io::copy(&mut file, &mut hasher).ok()?;
    Some(hasher.finalize().to_hex().to_string())
}

pub(crate) fn kind(path: &Path) -> Option<&'static str> {
    let found = std::fs::metadata(path).ok()?;
    Some(if found.is_dir() { "folder" } else { "file" })
}

/// The names in a folder, in order.
pub(crate) fn names(path: &Path) -> Option<Vec<String>> {
    let mut names: Vec<String> =
        std::fs::read_dir(path).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Some(names)
}
