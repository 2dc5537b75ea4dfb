//! Locks of entries, which end with the process that holds them.

use super::progress::Progress;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Suffix of the name of an entry's lock.
const LOCK: &str = ".lock";

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(path)
}

pub(super) fn lock_shared(path: &Path) -> io::Result<File> {
    let file = open(path)?;
    file.lock_shared()?;
    Ok(file)
}

pub(super) fn lock_shared_if_there(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.lock_shared()?;
    Ok(file)
}

/// A lock that no other process holds; `None` where one does.
pub(super) fn locked_exclusively(path: &Path) -> Option<File> {
    let file = open(path).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// A lock that one process of the node has at a time.
pub(crate) fn lock_alone(path: &Path, said: &mut dyn FnMut(Progress)) -> io::Result<File> {
    let file = open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            said(Progress::Waiting);
            file.lock()?;
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    Ok(file)
}

/// The file by which the entry in `folder` is locked.
pub(super) fn lock_of(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(LOCK);
    name.into()
}
