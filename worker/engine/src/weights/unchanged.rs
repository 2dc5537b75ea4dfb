//! Check that a mapped file was not written to since it was opened: otherwise its pages may have changed.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// An open file and its state when it was opened. Removing its name, or giving it to another file, changes nothing.
#[derive(Debug)]
pub(crate) struct UnchangedFile {
    path: PathBuf,
    file: File,
    before: (u64, i64, i64),
}

impl UnchangedFile {
    /// Notes the state of a file.
    ///
    /// # Errors
    /// Errors of the disk.
    pub(super) fn new(path: &Path, file: File) -> io::Result<Self> {
        let before = written(&file)?;
        Ok(Self { path: path.to_path_buf(), file, before })
    }

    /// The same once more, with the state of the first.
    pub(super) fn again(&self) -> io::Result<Self> {
        Ok(Self { path: self.path.clone(), file: self.file.try_clone()?, before: self.before })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Its path, if it was written to.
    pub(crate) fn changed(&self) -> Option<&Path> {
        let is_same = written(&self.file).is_ok_and(|now| now == self.before);
        (!is_same).then_some(&self.path)
    }
}

/// Size and time of the last write.
fn written(file: &File) -> io::Result<(u64, i64, i64)> {
    let metadata = file.metadata()?;
    Ok((metadata.size(), metadata.mtime(), metadata.mtime_nsec()))
}
