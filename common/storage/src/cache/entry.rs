//! Entries: `<location>/<content>/<file>`, with a lock beside each and one for the location.

use super::bound::{Bound, make_room};
use super::lock::{lock_alone, lock_of, lock_shared, lock_shared_if_there};
use super::progress::Progress;
use super::transfer::Transfer;
use crate::fault::{StorageFault, disk};
use crate::mark::ObjectMark;
use compass_common::regular_file;
use compass_types::ids::Digest;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Name of the list of the files that an entry holds; written last.
const MANIFEST: &str = ".complete.json";

/// The folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cache {
    pub(crate) root: PathBuf,
    pub(crate) bound: Bound,
}

/// Files that are wanted from one location.
pub(crate) struct Wanted {
    /// Names the location, by whatever address it is asked for.
    pub(crate) identity: String,
    /// A part of the folder's name for people.
    pub(crate) title: String,
    pub(crate) files: BTreeMap<String, ObjectMark>,
}

/// Runs transfers, and tells how far they are.
type RunTransfers<'r> = dyn FnMut(Vec<Transfer>, &mut dyn FnMut(Progress)) -> Result<(), StorageFault> + 'r;

/// An entry that stays as long as this value does.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) folder: PathBuf,
    _lock: File,
}

impl Cache {
    /// The entry with these files, fetched where they are not here. `fetch` runs the transfers that are missing.
    pub(crate) fn entry(
        &self,
        wanted: &Wanted,
        said: &mut dyn FnMut(Progress),
        fetch: &mut dyn FnMut(&str, PathBuf) -> Result<Transfer, StorageFault>,
        run: &mut RunTransfers<'_>,
    ) -> Result<Held, StorageFault> {
        let location = self.root.join(format!("{}-{}", wanted.title, Digest::of(wanted.identity.as_bytes()).short()));
        let content = serde_json::to_vec(&wanted.files).unwrap_or_default();
        let folder = location.join(Digest::of(&content).short());
        fs::create_dir_all(&folder).map_err(|error| disk("make the folder", &folder, &error))?;
        let in_use = lock_shared(&lock_of(&folder)).map_err(|error| disk("lock", &folder, &error))?;
        let held = |lock: File| {
            let _ = lock.set_modified(SystemTime::now());
            Held { folder: folder.clone(), _lock: lock }
        };
        if is_complete(&folder, &wanted.files) {
            return Ok(held(in_use));
        }
        let _alone = lock_alone(&folder.with_added_extension("fetching"), said)
            .map_err(|error| disk("lock", &folder, &error))?;
        // A process that removes entries may have taken the folder before it was locked.
        fs::create_dir_all(&folder).map_err(|error| disk("make the folder", &folder, &error))?;
        if is_complete(&folder, &wanted.files) {
            return Ok(held(in_use));
        }
        link_known(&location, &folder, &wanted.files);
        let is_here = |name: &str, mark: &ObjectMark| has_size(&folder.join(name), mark.bytes);
        let missing: Vec<_> = wanted.files.iter().filter(|(name, mark)| !is_here(name, mark)).collect();
        let to_come =
            |(name, mark): &(&String, &ObjectMark)| mark.bytes.saturating_sub(on_disk(&incomplete(&folder.join(name))));
        make_room(&self.root, self.bound, missing.iter().map(to_come).sum(), &folder)?;
        let transfers = missing.into_iter().map(|(name, _)| fetch(name, folder.join(name)));
        run(transfers.collect::<Result<_, _>>()?, said)?;
        let manifest = folder.join(MANIFEST);
        fs::write(&manifest, content).map_err(|error| disk("write", &manifest, &error))?;
        Ok(held(in_use))
    }
}

/// Returns the path of a file until it is whole.
pub(crate) fn incomplete(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".incomplete");
    name.into()
}

/// Bytes that a file with holes takes.
fn on_disk(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.blocks() * 512)
}

/// Returns whether an entry holds these files whole.
fn is_complete(folder: &Path, files: &BTreeMap<String, ObjectMark>) -> bool {
    manifest(folder).as_ref() == Some(files)
        && files.iter().all(|(name, mark)| has_size(&folder.join(name), mark.bytes))
}

fn manifest(folder: &Path) -> Option<BTreeMap<String, ObjectMark>> {
    serde_json::from_slice(&regular_file::read(&folder.join(MANIFEST), regular_file::SMALL).ok()?).ok()
}

fn has_size(path: &Path, bytes: u64) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == bytes)
}

/// Gives files of the same content that another entry of the location holds a second name, in place of a second copy.
fn link_known(location: &Path, folder: &Path, files: &BTreeMap<String, ObjectMark>) {
    for other in fs::read_dir(location).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if other == folder {
            continue;
        }
        let Ok(_lock) = lock_shared_if_there(&lock_of(&other)) else { continue };
        for (name, mark) in manifest(&other).into_iter().flatten() {
            let (from, to) = (other.join(&name), folder.join(&name));
            if mark.etag.is_some() && files.get(&name) == Some(&mark) && has_size(&from, mark.bytes) && !to.exists() {
                if let Some(parent) = to.parent() {
                    let _ = fs::create_dir_all(parent);
                }
                // A disk without links: the file is fetched.
                let _ = fs::hard_link(from, to);
            }
        }
    }
}
