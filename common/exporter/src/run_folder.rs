//! The folder that one interpreter writes to: gone when the export is over, and with the next export when a process was killed.

use compass_common::private_file;
use compass_common::regular_file;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Folders of runs, below the folder of exports.
const RUNS: &str = "runs";
/// Locked as long as the process that made the folder lives; beside the folder, where the interpreter cannot write.
const LOCK: &str = "lock";

/// A folder of this export alone.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
    lock_path: PathBuf,
    /// Held until the end.
    _lock: File,
}

impl RunFolder {
    /// Makes one below `exports`, and removes the folders that killed processes left.
    ///
    /// # Errors
    /// Errors of the system.
    pub(crate) fn make(exports: &Path) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let runs = exports.join(RUNS);
        private_file::make_folder(&runs)?;
        sweep(&runs);
        let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = runs.join(&name);
        let lock_path = runs.join(format!("{name}.{LOCK}"));
        // Locked before others see it.
        let unseen = runs.join(format!("{name}.new"));
        let lock = private_file::options().write(true).create(true).truncate(true).open(&unseen)?;
        lock.lock()?;
        std::fs::rename(&unseen, &lock_path)?;
        // A process of the same number, long ago.
        let _ = std::fs::remove_dir_all(&path);
        private_file::make_folder(&path.join("tmp"))?;
        let path = std::fs::canonicalize(path)?;
        Ok(Self { path, lock_path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // Whatever stays is swept by the next export.
        let _ = std::fs::remove_dir_all(&self.path);
        let _ = std::fs::remove_file(&self.lock_path);
    }
}

/// Removes the folders of processes that are gone.
fn sweep(runs: &Path) {
    let Ok(entries) = std::fs::read_dir(runs) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_none_or(|extension| extension != LOCK) {
            continue;
        }
        let Ok(lock) = regular_file::open(&path) else { continue };
        if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
            continue;
        }
        let _ = std::fs::remove_dir_all(path.with_extension(""));
        let _ = std::fs::remove_file(&path);
    }
}
