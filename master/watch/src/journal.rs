//! The file of a watch: one record a line, each durable before the action that it announces begins.
//!
//! Only one process has it open. A line that a dying process left half written is cut off and ignored.

use super::record::Record;
use compass_common::regular_file;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// Reason why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot {action} {path}")]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("another process watches this folder with this configuration: it has {path} open; end it first")]
    Held { path: PathBuf },
    #[error(
        "{path}:{line}:{column}: cannot read this record: {cause}; a newer version may have written it, or the file is damaged: move \
         it away to evaluate every checkpoint again"
    )]
    Damaged { path: PathBuf, line: usize, column: usize, cause: serde_json::Error },
}

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens the journal at `path`, or begins it, and returns what is recorded.
    ///
    /// # Errors
    /// Another process has it open, a line cannot be read, or an error of the disk.
    pub fn open(path: &Path) -> Result<(Self, Vec<Record>), JournalError> {
        let failed = |action| move |source| JournalError::Io { action, path: path.to_owned(), source };
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(failed("create the folder of"))?;
        let opened = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = opened.map_err(failed("open"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Held { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(failed("lock")(source)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed("read"))?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut records = Vec::new();
        let lines = bytes.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n');
        for (at, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
            let record = serde_json::from_slice(line);
            let damaged = |cause: serde_json::Error| JournalError::Damaged {
                path: path.to_owned(),
                line: at + 1,
                column: cause.column(),
                cause,
            };
            records.push(record.map_err(damaged)?);
        }
        file.set_len(whole as u64).map_err(failed("cut"))?;
        file.seek(SeekFrom::End(0)).map_err(failed("read"))?;
        // The name must survive a power cut as the lines do.
        regular_file::sync(folder).map_err(failed("sync the folder of"))?;
        Ok((Self { path: path.to_owned(), file }, records))
    }

    /// Makes a record durable.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn keep(&mut self, record: &Record) -> Result<(), JournalError> {
        let path = &self.path;
        let failed = |action| move |source| JournalError::Io { action, path: path.clone(), source };
        let mut line = serde_json::to_vec(record).map_err(io::Error::other).map_err(failed("write"))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(failed("write"))?;
        self.file.sync_data().map_err(failed("sync"))
    }
}
