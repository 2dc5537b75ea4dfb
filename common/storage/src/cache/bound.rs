//! Bound of the cache: the entries that were used longest ago make room, entries in use never.

use super::lock::{lock_of, locked_exclusively};
use crate::fault::{FaultKind, StorageFault};
use compass_plan::weights::shown_size;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The most that the cache may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bound {
    /// Half of the disk that it lies on.
    #[default]
    HalfOfDisk,
    Bytes(u64),
}

impl Bound {
    pub(super) fn bytes(self, root: &Path) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::HalfOfDisk => {
                rustix::fs::statvfs(root).map_or(u64::MAX, |disk| disk.f_blocks.saturating_mul(disk.f_frsize) / 2)
            }
        }
    }
}

/// An entry that may be removed.
struct Candidate {
    folder: PathBuf,
    used: SystemTime,
}

/// Removes entries until `needed` more bytes fit below the bound; `own` is the entry that they are for.
pub(super) fn make_room(root: &Path, bound: Bound, needed: u64, own: &Path) -> Result<(), StorageFault> {
    let most = bound.bytes(root);
    let mut candidates = candidates(root, own);
    // Longest ago first.
    candidates.sort_by_key(|candidate| candidate.used);
    let mut candidates = candidates.into_iter();
    loop {
        let held = bytes_below(root);
        if held.saturating_add(needed) <= most {
            return Ok(());
        }
        let removed = candidates.by_ref().find_map(|candidate| {
            let _lock = locked_exclusively(&lock_of(&candidate.folder))?;
            fs::remove_dir_all(&candidate.folder).ok()?;
            Some(candidate.folder)
        });
        match removed {
            Some(folder) => tracing::info!(folder = %folder.display(), "removed from the cache to make room"),
            None => {
                let (needed, most, held) = (shown_size(needed), shown_size(most), shown_size(held));
                return Err(StorageFault::new(
                    FaultKind::Cache,
                    format!("the cache {} may hold {most}, has {held} in use and needs {needed} more", root.display()),
                    "raise --storage-cache-limit (COMPASS_STORAGE_CACHE_LIMIT), or name a folder on a larger disk with \
                     --storage-cache",
                ));
            }
        }
    }
}

fn candidates(root: &Path, own: &Path) -> Vec<Candidate> {
    let folders = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    };
    let entries = folders(root).into_iter().flat_map(|location| folders(&location));
    let entries = entries.filter(|folder| folder != own).map(|folder| {
        let used = fs::metadata(lock_of(&folder)).and_then(|lock| lock.modified());
        Candidate { used: used.unwrap_or(SystemTime::UNIX_EPOCH), folder }
    });
    entries.collect()
}

/// Bytes on the disk, a file with several names once.
fn bytes_below(root: &Path) -> u64 {
    fn walk(folder: &Path, seen: &mut BTreeSet<(u64, u64)>, bytes: &mut u64) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(data) = entry.metadata() else { continue };
            if data.is_dir() {
                walk(&entry.path(), seen, bytes);
            } else if seen.insert((data.dev(), data.ino())) {
                // An incomplete file has holes: what counts is what it takes.
                *bytes += (data.blocks() * 512).min(data.len());
            }
        }
    }
    let (mut seen, mut bytes) = (BTreeSet::new(), 0);
    walk(root, &mut seen, &mut bytes);
    bytes
}
