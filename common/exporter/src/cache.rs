//! Results of exports, kept in the user's state folder.
//!
//! A file of rows is called by its digest, and is there before the record that names it; both are renamed to their names when
//! they are whole. So the files that a record names are complete, whatever was killed when.

use crate::stamp::{Stamper, Stamps, of_file};
use compass_common::private_file;
use compass_common::regular_file;
use compass_settings::LoaderWorld;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Largest record that is read: it names every file that was read for it.
const MOST_RECORD_BYTES: u64 = 64 << 20;

/// The folder of everything that is kept.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

/// Result of one class with its parameters, or of one configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) outputs: Vec<Output>,
    /// Versions that read it: `Python 3.11.7, OpenCompass 0.5.4`.
    pub(crate) versions: String,
    pub(crate) stamps: Stamps,
}

/// A file that was written: the rows of a split, or a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) digest: String,
    pub(crate) rows: u64,
    pub(crate) columns: Vec<String>,
}

impl Cache {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf() }
    }

    /// The record of `key`, if all that it depends on is unchanged and its files are whole.
    pub(crate) fn find(&self, key: &str, stamper: &mut Stamper, world: &LoaderWorld) -> Option<Record> {
        let bytes = compass_common::regular_file::read(&self.record(key), MOST_RECORD_BYTES).ok()?;
        let record: Record = serde_json::from_slice(&bytes).ok()?;
        let is_whole = |output: &Output| of_file(&self.file(output)).is_ok_and(|digest| digest == output.digest);
        (stamper.holds(&record.stamps, world) && record.outputs.iter().all(is_whole)).then_some(record)
    }

    /// The file of an output.
    pub(crate) fn file(&self, output: &Output) -> PathBuf {
        self.folder.join("rows").join(format!("{}.jsonl", output.digest))
    }

    /// Takes a file over; returns its digest.
    ///
    /// # Errors
    /// Errors of the system; it is not a regular file.
    pub(crate) fn take(&self, path: &Path) -> io::Result<String> {
        if !std::fs::symlink_metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file"));
        }
        let digest = of_file(path)?;
        let rows = self.folder.join("rows");
        private_file::make_folder(&rows)?;
        regular_file::sync(path)?;
        std::fs::rename(path, rows.join(format!("{digest}.jsonl")))?;
        regular_file::sync(&rows)?;
        Ok(digest)
    }

    /// Keeps a record whose files were taken over. It is written in `beside` first.
    ///
    /// # Errors
    /// Errors of the system.
    pub(crate) fn keep(&self, key: &str, record: &Record, beside: &Path) -> io::Result<()> {
        let target = self.record(key);
        private_file::make_folder(&self.folder.join("records"))?;
        let whole = beside.join(format!("{key}.record"));
        std::fs::write(&whole, serde_json::to_vec(record)?)?;
        regular_file::sync(&whole)?;
        std::fs::rename(&whole, &target)
    }

    fn record(&self, key: &str) -> PathBuf {
        self.folder.join("records").join(format!("{key}.json"))
    }
}
