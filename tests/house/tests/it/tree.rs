//! Sources of a small package in a folder of their own.

use std::path::Path;
use tempfile::TempDir;

pub(crate) struct Tree(TempDir);

impl Tree {
    /// A package with these files below `src`.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join("src").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }
}
