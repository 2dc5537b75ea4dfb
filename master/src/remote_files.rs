//! Models and data of a configuration that are in an object store or on the hub: what the planner reads of them.

use compass_common::status_output::print_status;
use compass_plan::ModelKind;
use compass_plan::weights::FileMark;
use compass_settings::{Choose, RemoteFault, RemoteFiles, RemoteFolder};
use compass_storage::{Fetched, Location, Progress, ProgressLog, Storage, StorageFault, StorageOptions};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Finds files through [`Storage`], each place once.
#[derive(Debug)]
pub struct StoredFiles {
    storage: Arc<Storage>,
    folders: Mutex<BTreeMap<String, Result<Arc<StoredFolder>, RemoteFault>>>,
    /// Data and adapters stay in the cache as long as they may be read.
    data: Mutex<Vec<Fetched>>,
}

/// A model's or a tokenizer's folder.
#[derive(Debug)]
struct StoredFolder {
    storage: Arc<Storage>,
    folder: compass_storage::RemoteFolder,
}

impl StoredFiles {
    pub fn new(options: StorageOptions) -> Self {
        Self { storage: Arc::new(Storage::new(options)), folders: Mutex::default(), data: Mutex::default() }
    }

    fn find(&self, path: &str) -> Result<Arc<StoredFolder>, RemoteFault> {
        let location = parse(path)?;
        let mut log = ProgressLog::new(format!("small files of {location}"));
        let mut said = |progress: Progress| log.line(&progress).into_iter().for_each(print_status);
        let folder = self.storage.small_files(&location, &mut said).map_err(fault)?;
        Ok(Arc::new(StoredFolder { storage: self.storage.clone(), folder }))
    }
}

fn parse(path: &str) -> Result<Location, RemoteFault> {
    let help = || "a model or data elsewhere is `profile:s3://bucket/prefix/` or `s3://bucket/prefix/`".to_owned();
    let unknown = || RemoteFault { message: format!("`{path}` is no place that files are fetched from"), help: help() };
    Location::parse(path).ok_or_else(unknown)?.map_err(|message| RemoteFault { message, help: help() })
}

fn fault(fault: StorageFault) -> RemoteFault {
    RemoteFault { message: fault.message, help: fault.help }
}

impl RemoteFiles for StoredFiles {
    fn folder(&self, path: &str) -> Result<Arc<dyn RemoteFolder>, RemoteFault> {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        // A store that does not answer is asked once, however many models are there.
        let found = folders.entry(path.to_owned()).or_insert_with(|| self.find(path));
        found.clone().map(|folder| folder as Arc<dyn RemoteFolder>)
    }

    fn adapter(&self, path: &str) -> Result<(String, PathBuf), RemoteFault> {
        let location = parse(path)?;
        let mut log = ProgressLog::new(format!("adapter {location}"));
        let mut said = |progress: Progress| log.line(&progress).into_iter().for_each(print_status);
        let (place, held) = self.storage.adapter_files(&location, &mut said).map_err(fault)?;
        let folder = held.folder().to_owned();
        self.data.lock().unwrap_or_else(PoisonError::into_inner).push(held);
        Ok((place.to_string(), folder))
    }

    fn data(&self, path: &str) -> Result<PathBuf, RemoteFault> {
        let fetched = super::remote_data::fetch(&self.storage, path, &parse)?;
        self.data.lock().unwrap_or_else(PoisonError::into_inner).push(fetched.held);
        Ok(fetched.place)
    }

    fn dataset(&self, repository: &str, revision: &str, choose: &Choose<'_>) -> Result<PathBuf, RemoteFault> {
        super::remote_data::fetch_dataset(&self.storage, (repository, revision), choose)
    }

    fn offline(&self) -> Option<String> {
        self.storage.offline()
    }
}

impl RemoteFolder for StoredFolder {
    fn location(&self) -> String {
        self.folder.location.to_string()
    }

    fn small(&self) -> &Path {
        self.folder.small.folder()
    }

    fn has(&self, name: &str) -> bool {
        self.folder.listing.files.contains_key(name)
    }

    fn names(&self) -> Vec<String> {
        self.folder.listing.files.keys().cloned().collect()
    }

    fn weights(&self, kind: ModelKind) -> Result<BTreeMap<String, FileMark>, RemoteFault> {
        self.storage.weights_marks(&self.folder.location, &self.folder.listing, kind).map_err(fault)
    }
}
