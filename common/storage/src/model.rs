//! The files of a model: which of a listing they are, the small ones for the planner, all of them for an engine.

use crate::cache::Progress;
use crate::fault::{FaultKind, StorageFault};
use crate::location::{HubRepository, Location};
use crate::mark::Listing;
use crate::storage::{Fetched, Storage};
use compass_common::regular_file;
use compass_plan::ModelKind;
use compass_plan::weights::adapter;
use compass_plan::weights::files::{is_small, reading_of, weights_among, weights_name};
use compass_plan::weights::{Content, FileMark, mark};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::Path;

/// Largest file that is read whole for a plan; no tokenizer is larger.
const MOST_SMALL: u64 = 512 << 20;
/// Files of weights that are looked at side by side.
const AT_ONCE: usize = 16;

/// A model's or a tokenizer's directory that is elsewhere.
#[derive(Debug)]
pub struct RemoteFolder {
    /// The place that workers fetch it from. A revision of the hub has become a commit.
    pub location: Location,
    pub listing: Listing,
    /// Its small files on this node.
    pub small: Fetched,
}

impl Storage {
    /// A folder, with its small files on this node.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub fn small_files(
        &self,
        location: &Location,
        said: &mut dyn FnMut(Progress),
    ) -> Result<RemoteFolder, StorageFault> {
        let (place, listing) = self.list_model(location)?;
        let small = self.fetch(&place, &listing, &small_names(&listing), said)?;
        let location = at_commit(location, listing.commit.as_deref());
        Ok(RemoteFolder { location, listing, small })
    }

    /// Everything that an engine reads of a model in `location`, on this node. What the hub's local cache has is taken from
    /// there without a request.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub fn model_files(
        &self,
        location: &Location,
        kind: ModelKind,
        said: &mut dyn FnMut(Progress),
    ) -> Result<Fetched, StorageFault> {
        if let Some(local) = self.local_model(location, kind) {
            return Ok(local);
        }
        let (place, listing) = self.list_model(location)?;
        let mut names = small_names(&listing);
        names.extend(self.weights(&place, &listing, kind)?);
        self.fetch(&place, &listing, &names, said)
    }

    /// Everything that an engine reads of a tokenizer in `location`, on this node.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub fn tokenizer_files(
        &self,
        location: &Location,
        said: &mut dyn FnMut(Progress),
    ) -> Result<Fetched, StorageFault> {
        if let Location::Hub(repository) = location
            && let Some(folder) = self.local_snapshot(repository)
        {
            return Ok(Fetched::in_place(folder));
        }
        Ok(self.small_files(location, said)?.small)
    }

    /// An adapter that `peft` saved, on this node, and the place that workers fetch it from.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub fn adapter_files(
        &self,
        location: &Location,
        said: &mut dyn FnMut(Progress),
    ) -> Result<(Location, Fetched), StorageFault> {
        if let Location::Hub(repository) = location
            && let Some(folder) = self.local_snapshot(repository)
            && adapter::names_among(&names_in(&folder)).is_some()
        {
            let commit = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Ok((at_commit(location, Some(&commit)), Fetched::in_place(folder)));
        }
        let listing = self.list(location)?;
        let names = adapter::names_among(&listing.files.keys().cloned().collect()).ok_or_else(|| {
            let message =
                format!("`{location}` holds no adapter: {} and its weights are not both there", adapter::CONFIG);
            StorageFault::new(FaultKind::Missing, message, "name a folder that `peft` saved; was it uploaded whole?")
        })?;
        let fetched = self.fetch(location, &listing, &names, said)?;
        Ok((at_commit(location, listing.commit.as_deref()), fetched))
    }

    /// The marks of a model's weights, by their canonical names, as they would be of a copy: some kilobytes are read.
    ///
    /// # Errors
    /// Why they cannot be had.
    pub fn weights_marks(
        &self,
        location: &Location,
        listing: &Listing,
        kind: ModelKind,
    ) -> Result<BTreeMap<String, FileMark>, StorageFault> {
        let names = self.weights(location, listing, kind)?;
        let mut marks = BTreeMap::new();
        for names in names.chunks(AT_ONCE) {
            let marked = std::thread::scope(|scope| {
                let mark_one = |name: &String| {
                    let content =
                        Remote { storage: self, location, listing, name, fault: std::cell::RefCell::new(None) };
                    let found = mark(&content, reading_of(name));
                    let fault = content.fault.into_inner();
                    found.map_err(|error| fault.unwrap_or_else(|| unreadable(location, name, &error)))
                };
                let running: Vec<_> = names.iter().map(|name| scope.spawn(move || mark_one(name))).collect();
                let done = running.into_iter().zip(names).map(|(one, name)| {
                    let broken = || Err(unreadable(location, name, &io::ErrorKind::Other.into()));
                    Ok((weights_name(name), one.join().unwrap_or_else(|_| broken())?))
                });
                done.collect::<Result<Vec<_>, StorageFault>>()
            });
            marks.extend(marked?);
        }
        Ok(marks)
    }

    /// Lists a model's folder; a location that ends in `.model` is that file alone.
    fn list_model(&self, location: &Location) -> Result<(Location, Listing), StorageFault> {
        match location {
            Location::S3(s3) if s3.prefix.ends_with(".model") => {
                let (folder, listing) = self.list_object(s3)?;
                Ok((Location::S3(folder), listing))
            }
            _ => Ok((location.clone(), self.list(location)?)),
        }
    }

    fn weights(&self, location: &Location, listing: &Listing, kind: ModelKind) -> Result<Vec<String>, StorageFault> {
        let mut fault = None;
        let mut read = |name: &str| {
            let bytes = listing.files.get(name).map_or(0, |mark| mark.bytes).min(MOST_SMALL);
            self.read(location, listing, name, 0..bytes).map_err(|found| {
                fault = Some(found);
                io::Error::other("not read")
            })
        };
        let names: BTreeSet<String> = listing.files.keys().cloned().collect();
        let found = weights_among(&names, kind, &mut read);
        found.map_err(|error| {
            fault.unwrap_or_else(|| {
                let message = match error.kind() {
                    io::ErrorKind::NotFound => format!("`{location}` holds no weights of a model of this type"),
                    _ => format!("the index of shards in `{location}` cannot be read: {error}"),
                };
                StorageFault::new(
                    FaultKind::Missing,
                    message,
                    "name a folder with the model's weights; was it uploaded whole?",
                )
            })
        })
    }

    /// A snapshot in the hub's local cache that has all that an engine reads.
    fn local_model(&self, location: &Location, kind: ModelKind) -> Option<Fetched> {
        let Location::Hub(repository) = location else { return None };
        let folder = self.local_snapshot(repository)?;
        is_loadable(&folder, kind).then(|| Fetched::in_place(folder))
    }
}

/// Returns whether a directory has a model's configuration and all of its weights.
pub fn is_loadable(folder: &Path, kind: ModelKind) -> bool {
    let weights =
        weights_among(&names_in(folder), kind, &mut |name| regular_file::read(&folder.join(name), regular_file::SMALL));
    folder.join("config.json").is_file()
        && weights.is_ok_and(|weights| weights.iter().all(|name| folder.join(name).is_file()))
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// A location whose revision has become a commit, where it has one: what is fetched later is the same.
fn at_commit(location: &Location, commit: Option<&str>) -> Location {
    match (location, commit) {
        (Location::Hub(repository), Some(commit)) => {
            Location::Hub(HubRepository { revision: commit.to_owned(), ..repository.clone() })
        }
        _ => location.clone(),
    }
}

fn small_names(listing: &Listing) -> Vec<String> {
    let small = listing.files.iter().filter(|(name, mark)| is_small(name) && mark.bytes <= MOST_SMALL);
    small.map(|(name, _)| name.clone()).collect()
}

fn unreadable(location: &Location, name: &str, error: &io::Error) -> StorageFault {
    StorageFault::new(FaultKind::Unavailable, format!("cannot read `{name}` of `{location}`: {error}"), "try again")
}

/// A file of weights as [`mark`] reads it.
struct Remote<'r> {
    storage: &'r Storage,
    location: &'r Location,
    listing: &'r Listing,
    name: &'r str,
    /// The first failure, which an error of the system cannot tell.
    fault: std::cell::RefCell<Option<StorageFault>>,
}

impl Content for Remote<'_> {
    fn size(&self) -> io::Result<u64> {
        self.listing.files.get(self.name).map(|mark| mark.bytes).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn bytes(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        self.storage.read(self.location, self.listing, self.name, range).map_err(|fault| {
            self.fault.borrow_mut().get_or_insert(fault);
            io::Error::other("not read")
        })
    }
}
