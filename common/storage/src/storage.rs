//! One interface to all places: list, read ranges, fetch.

use crate::cache::{Bound, Cache, Held, Progress, RangeReader, Transfer, Wanted, incomplete, lock_alone};
use crate::fault::{FaultKind, StorageFault, disk};
use crate::http::HttpStack;
use crate::hub::{Hub, RepositoryFolder, caches, forbids_network, sum_of};
use crate::location::{HubKind, HubRepository, Location, S3Location};
use crate::mark::{Listing, ObjectMark};
use crate::runtime::Requests;
use crate::s3::{Bucket, Endpoint};
use crate::variables::Variables;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};

/// Files that are fetched at the same time; each is read in several pieces at once.
const FILES_AT_ONCE: usize = 2;

/// Knowledge of a program about storage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageOptions {
    /// Variables of the environment.
    pub variables: Variables,
    /// `petreloss.conf`, where it is not the one of PETRELOSS_CONF or of the home directory.
    pub petreloss_conf: Option<PathBuf>,
    /// The cache, where it is not the user's own.
    pub cache: Option<PathBuf>,
    /// The most that the cache may hold.
    pub bound: Bound,
}

/// Everything that is fetched through this process.
#[derive(Debug)]
pub struct Storage {
    options: StorageOptions,
    /// Begun with the first request: what needs none costs nothing.
    net: OnceLock<Net>,
    buckets: Mutex<BTreeMap<(Option<String>, String), Bucket>>,
}

#[derive(Debug)]
struct Net {
    requests: Requests,
    /// For object stores.
    http: HttpStack,
    /// For the hub.
    hub: HttpStack,
}

/// Files on this node. They stay as long as this value does.
#[derive(Debug)]
pub struct Fetched {
    folder: PathBuf,
    /// Names of the hub's cache are never removed by this program.
    _held: Option<Held>,
}

impl Fetched {
    /// The folder in which the files have the names of the listing.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Files that lie where they are whatever this program does.
    pub(crate) fn in_place(folder: PathBuf) -> Self {
        Self { folder, _held: None }
    }
}

impl Storage {
    pub fn new(options: StorageOptions) -> Self {
        Self { options, net: OnceLock::new(), buckets: Mutex::default() }
    }

    /// Lists the files at a location.
    ///
    /// # Errors
    /// Why it cannot be told.
    pub fn list(&self, location: &Location) -> Result<Listing, StorageFault> {
        match location {
            Location::S3(location) => {
                let (bucket, location) = (self.bucket(location)?, location.clone());
                self.net()?.requests.wait(async move { bucket.list(&location).await })
            }
            Location::Hub(repository) => {
                let (hub, repository) = (self.hub(repository)?, repository.clone());
                self.net()?.requests.wait(async move { hub.list(&repository).await })
            }
        }
    }

    /// Lists one object; its name is the one in the listing.
    ///
    /// # Errors
    /// Why it cannot be told.
    pub fn list_object(&self, location: &S3Location) -> Result<(S3Location, Listing), StorageFault> {
        let Some((folder, name)) = location.parent() else {
            let message = format!("`{location}` names a bucket and no object");
            return Err(StorageFault::new(
                FaultKind::Configuration,
                message,
                "write the object's key after the bucket",
            ));
        };
        let (bucket, key) = (self.bucket(location)?, location.prefix.clone());
        let mark = self.net()?.requests.wait(async move { bucket.head(&key).await })?;
        Ok((folder, Listing { files: BTreeMap::from([(name.to_owned(), mark)]), commit: None }))
    }

    /// A range of one file.
    ///
    /// # Errors
    /// Why it cannot be read, or that it has changed since it was listed.
    pub fn read(
        &self,
        location: &Location,
        listing: &Listing,
        name: &str,
        range: Range<u64>,
    ) -> Result<Vec<u8>, StorageFault> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let mark = mark_of(listing, name)?;
        let reader = self.reader(location, listing, name, mark)?;
        let bytes = self.net()?.requests.wait(async move { reader.read(range).await })?;
        Ok(bytes.to_vec())
    }

    /// These files of the listing, on this node. What is here is not fetched again.
    ///
    /// # Errors
    /// Why they cannot be had. What came is kept, and the next try goes on from there.
    pub fn fetch(
        &self,
        location: &Location,
        listing: &Listing,
        names: &[String],
        said: &mut dyn FnMut(Progress),
    ) -> Result<Fetched, StorageFault> {
        let files = names.iter().map(|name| Ok((name.clone(), mark_of(listing, name)?.clone())));
        let files = files.collect::<Result<BTreeMap<_, _>, StorageFault>>()?;
        match location {
            Location::Hub(repository) => self.fetch_from_hub(repository, listing, &files, said),
            Location::S3(s3) => {
                let bucket = self.bucket(s3)?;
                let title: String = s3.prefix.rsplit('/').next().unwrap_or_default().chars().take(40).collect();
                let title = if title.is_empty() { s3.bucket.clone() } else { title };
                let wanted = Wanted { identity: format!("{} {}", bucket.identity(), s3.prefix), title, files };
                let mut begin = |name: &str, target: PathBuf| {
                    let mark = mark_of(listing, name)?.clone();
                    let reader = Box::new(bucket.object(s3.key(name), mark.clone())?);
                    Ok(Transfer { reader, mark, incomplete: incomplete(&target), target, sum: None })
                };
                let mut run = |transfers: Vec<Transfer>, said: &mut dyn FnMut(Progress)| self.run(transfers, said);
                let held = self.cache()?.entry(&wanted, said, &mut begin, &mut run)?;
                Ok(Fetched { folder: held.folder.clone(), _held: Some(held) })
            }
        }
    }

    /// The snapshot of a repository in a local cache of the hub, where it has one; it need not hold all files.
    pub fn local_snapshot(&self, repository: &HubRepository) -> Option<PathBuf> {
        let caches = caches(&self.options.variables);
        let find = |cache: &PathBuf| Some(RepositoryFolder::new(cache, repository).snapshot(&repository.revision)?.1);
        caches.iter().find_map(find)
    }

    /// The variable that forbids asking the hub, with its value.
    pub fn offline(&self) -> Option<String> {
        forbids_network(&self.options.variables)
    }

    fn net(&self) -> Result<&Net, StorageFault> {
        if let Some(net) = self.net.get() {
            return Ok(net);
        }
        // Each after the variable by which the peers' own clients find authorities.
        let stack = |variable: &'static str| {
            let bundle = self.options.variables.get(variable);
            HttpStack::new(bundle.map(|path| (variable, Path::new(path))))
        };
        let net =
            Net { requests: Requests::start()?, http: stack("AWS_CA_BUNDLE")?, hub: stack("REQUESTS_CA_BUNDLE")? };
        Ok(self.net.get_or_init(|| net))
    }

    fn bucket(&self, location: &S3Location) -> Result<Bucket, StorageFault> {
        let key = (location.profile.clone(), location.bucket.clone());
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get(&key) {
            return Ok(bucket.clone());
        }
        let endpoint = match &location.profile {
            Some(profile) => Endpoint::of_profile(profile, &self.petreloss_conf()?)?,
            None => Endpoint::of_variables(&self.options.variables)?,
        };
        let bucket = Bucket::new(endpoint, &location.bucket, &self.net()?.http)?;
        buckets.insert(key, bucket.clone());
        Ok(bucket)
    }

    fn petreloss_conf(&self) -> Result<PathBuf, StorageFault> {
        let variables = &self.options.variables;
        let named = self.options.petreloss_conf.clone().or_else(|| variables.get("PETRELOSS_CONF").map(PathBuf::from));
        let usual = || Some(Path::new(variables.get("HOME")?).join("petreloss.conf"));
        named.or_else(usual).ok_or_else(|| {
            let message = "no petreloss.conf is named, and no home directory is known";
            StorageFault::new(FaultKind::Configuration, message, "name the file with --petreloss-conf")
        })
    }

    fn cache(&self) -> Result<Cache, StorageFault> {
        let variables = &self.options.variables;
        let usual = || {
            let cache = variables.get("XDG_CACHE_HOME").map(PathBuf::from);
            let cache = cache.or_else(|| Some(Path::new(variables.get("HOME")?).join(".cache")))?;
            Some(cache.join("compass/storage"))
        };
        let root = self.options.cache.clone().or_else(usual).ok_or_else(|| {
            let message = "no folder is named for files that are fetched, and no home directory is known";
            StorageFault::new(FaultKind::Cache, message, "name one with --storage-cache (COMPASS_STORAGE_CACHE)")
        })?;
        let root = std::path::absolute(&root).unwrap_or(root);
        std::fs::create_dir_all(&root).map_err(|error| disk("make the cache's folder", &root, &error))?;
        Ok(Cache { root, bound: self.options.bound })
    }

    fn hub(&self, repository: &HubRepository) -> Result<Hub, StorageFault> {
        if let Some(variable) = self.offline() {
            let HubRepository { kind, repository, revision } = repository;
            let kind = if *kind == HubKind::Dataset { "--repo-type dataset " } else { "" };
            return Err(StorageFault::new(
                FaultKind::Configuration,
                format!(
                    "`{repository}` at revision `{revision}` is not whole in the local hub cache, and {variable} forbids to fetch it"
                ),
                format!(
                    "fetch it where there is a network: `hf download {kind}--revision {revision} {repository}`, or unset the variable"
                ),
            ));
        }
        Hub::new(&self.options.variables, &self.net()?.hub)
    }

    fn reader(
        &self,
        location: &Location,
        listing: &Listing,
        name: &str,
        mark: &ObjectMark,
    ) -> Result<Box<dyn RangeReader>, StorageFault> {
        Ok(match location {
            Location::S3(s3) => Box::new(self.bucket(s3)?.object(s3.key(name), mark.clone())?),
            Location::Hub(repository) => {
                let commit = listing.commit.as_deref().unwrap_or(&repository.revision);
                Box::new(self.hub(repository)?.file(repository, commit, name, mark))
            }
        })
    }

    /// Files of a repository, into the hub's own cache.
    fn fetch_from_hub(
        &self,
        repository: &HubRepository,
        listing: &Listing,
        files: &BTreeMap<String, ObjectMark>,
        said: &mut dyn FnMut(Progress),
    ) -> Result<Fetched, StorageFault> {
        let commit = listing.commit.as_deref().unwrap_or(&repository.revision);
        let Some(cache) = caches(&self.options.variables).into_iter().next() else {
            let message = "no folder is known for the hub's cache";
            return Err(StorageFault::new(FaultKind::Cache, message, "name one with HF_HOME"));
        };
        let folder = RepositoryFolder::new(&cache, repository);
        let failed = |error: std::io::Error| disk("write to the hub's cache", &cache, &error);
        let missing: Vec<_> = files.iter().filter(|(name, mark)| !folder.holds(commit, name, mark)).collect();
        let (mut locks, mut transfers) = (BTreeMap::new(), Vec::new());
        for (name, mark) in &missing {
            let etag = mark.etag.as_deref().unwrap_or_default();
            let target = folder.blob(etag);
            // Two names of one content are one blob.
            if locks.contains_key(etag) {
                continue;
            }
            locks.insert(etag, lock_alone(&folder.lock(etag).map_err(failed)?, said).map_err(failed)?);
            if std::fs::metadata(&target).is_ok_and(|blob| blob.len() == mark.bytes) {
                continue;
            }
            let reader = self.reader(&Location::Hub(repository.clone()), listing, name, mark)?;
            // Not the name that the hub's library gives it: that one goes on from the file's length.
            let incomplete = target.with_added_extension("compass.incomplete");
            transfers.push(Transfer { reader, mark: (*mark).clone(), target, incomplete, sum: sum_of(mark) });
        }
        self.run(transfers, said)?;
        for (name, mark) in &missing {
            folder.link(commit, name, mark.etag.as_deref().unwrap_or_default()).map_err(failed)?;
        }
        folder.note(&repository.revision, listing).map_err(failed)?;
        Ok(Fetched { folder: folder.snapshot_of(commit), _held: None })
    }

    /// Runs transfers side by side, telling how far they are.
    fn run(&self, transfers: Vec<Transfer>, said: &mut dyn FnMut(Progress)) -> Result<(), StorageFault> {
        use futures_util::stream::{self, TryStreamExt as _};
        if transfers.is_empty() {
            return Ok(());
        }
        let all = transfers.iter().map(|transfer| transfer.mark.bytes).sum();
        let (arrived, arrivals) = mpsc::channel();
        let net = self.net()?;
        let running = std::thread::scope(|scope| {
            let waiting = scope.spawn(move || {
                let arrived = Arc::new(Mutex::new(arrived));
                net.requests.wait(async move {
                    let run = |transfer: Transfer| {
                        let arrived = arrived.clone();
                        async move {
                            let tell = |bytes: u64, is_from_before: bool| {
                                let arrived = arrived.lock().unwrap_or_else(PoisonError::into_inner);
                                // The listener has gone: the transfer continues.
                                let _ = arrived.send((bytes, is_from_before));
                            };
                            transfer.run(&tell).await
                        }
                    };
                    stream::iter(transfers.into_iter().map(Ok)).try_for_each_concurrent(FILES_AT_ONCE, run).await
                })
            });
            let (mut done, mut from_before) = (0, 0);
            for (bytes, is_from_before) in arrivals {
                done += bytes;
                from_before += if is_from_before { bytes } else { 0 };
                said(Progress::Bytes { done, all, from_before });
            }
            waiting.join()
        });
        let broken = || StorageFault::new(FaultKind::Unavailable, "a transfer was abandoned", "try again");
        running.unwrap_or_else(|_| Err(broken()))
    }
}

fn mark_of<'l>(listing: &'l Listing, name: &str) -> Result<&'l ObjectMark, StorageFault> {
    listing.files.get(name).ok_or_else(|| {
        StorageFault::new(FaultKind::Missing, format!("there is no `{name}`"), "check the path, letter by letter")
    })
}
