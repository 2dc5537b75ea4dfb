//! The embedded store: one redb file on a disk on this host, guarded by a file lock. No service is needed.
//!
//! The held lock is the fence: while this process lives, no other process can open the store; when it dies, however it dies,
//! the kernel lets go of the lock.

use super::coordination_store::{CoordinationStore, LeaderRecord, Leadership, LeadershipStatus, Op};
use super::damage::Damage;
use super::error::StoreError;
use super::transaction::MAX_OPS;
use compass_common::private_file;
use compass_common::regular_file;
use compass_types::ids::Epoch;
use redb::{Database, ReadableDatabase, TableDefinition};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tokio::sync::watch;

const ENTRIES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("entries");
const EPOCH: &str = "epoch";
const NFS_MAGIC: u64 = 0x6969;

/// Store in one file on a disk on this host. Dropping it releases the lock.
#[derive(Debug)]
pub struct EmbeddedStore {
    path: PathBuf,
    database: Database,
    lock: File,
    epoch: Epoch,
    candidate: Option<String>,
    status: watch::Sender<LeadershipStatus>,
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { action, path, source }
}

/// Makes an empty database under its name in one step: a master that is killed while its file is half made must leave
/// nothing that the next one stumbles over. The caller holds the lock.
fn make_whole(directory: &Path, path: &Path) -> Result<(), StoreError> {
    let failed = |source: Box<dyn std::error::Error + Send + Sync>| io_error("make", path)(source);
    let partial = path.with_extension("partial");
    match std::fs::remove_file(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error.into())),
        _ => {
            // Made here first, so that it is private from its first byte on.
            let made = private_file::options().write(true).create_new(true).open(&partial);
            drop(made.map_err(|error| failed(error.into()))?);
            drop(Database::create(&partial).map_err(|error| failed(error.into()))?);
        }
    }
    let named = std::fs::rename(&partial, path).and_then(|()| regular_file::sync(directory));
    named.map_err(|error| failed(error.into()))
}

/// File locks do not hold there.
pub(super) fn refuse_network_file_system(directory: &Path) -> Result<(), StoreError> {
    let fs = rustix::fs::statfs(directory).map_err(|error| io_error("examine", directory)(error.into()))?;
    match fs.f_type as u64 {
        NFS_MAGIC => Err(StoreError::NetworkFileSystem { path: directory.to_owned() }),
        _ => Ok(()),
    }
}

impl EmbeddedStore {
    /// Opens or makes the store `name` in `directory`.
    ///
    /// # Errors
    /// [`StoreError::Held`] while another process has it, [`StoreError::NetworkFileSystem`] on NFS.
    pub fn open(directory: &Path, name: &str) -> Result<Self, StoreError> {
        private_file::make_folder(directory).map_err(|error| io_error("create", directory)(error.into()))?;
        refuse_network_file_system(directory)?;
        let lock_path = directory.join(format!("{name}.lock"));
        let failed = |error: io::Error| io_error("open", &lock_path)(error.into());
        let lock = loop {
            let options = private_file::options().create(true).truncate(false).read(true).write(true).clone();
            let mut lock = options.open(&lock_path).map_err(failed)?;
            if lock.try_lock().is_err() {
                let mut holder = String::new();
                let _ = lock.read_to_string(&mut holder);
                return Err(StoreError::Held { holder: holder.trim().to_owned() });
            }
            // Its former holder may have discarded the store, and the file of the lock with it: then others lock another file.
            let inode = lock.metadata().map_err(failed)?.ino();
            if std::fs::metadata(&lock_path).is_ok_and(|data| data.ino() == inode) {
                break lock;
            }
        };
        let path = directory.join(format!("{name}.redb"));
        if !path.exists() {
            make_whole(directory, &path)?;
        }
        let closed = regular_file::open(&path).and_then(|file| private_file::close_to_others(&file));
        closed.map_err(|error| io_error("take the rights of others away from", &path)(error.into()))?;
        let database = Database::open(&path).map_err(|error| match error {
            redb::DatabaseError::Storage(redb::StorageError::Io(source))
                if source.kind() != io::ErrorKind::InvalidData =>
            {
                io_error("open", &path)(source.into())
            }
            other => StoreError::Damaged { path: path.clone(), source: other.into() },
        })?;
        let status = watch::Sender::new(LeadershipStatus::Sure);
        Ok(Self { path, database, lock, epoch: Epoch(0), candidate: None, status })
    }

    /// Removes the store and the file of its lock, which this process holds to the end.
    pub(super) fn discard(self) {
        let Self { path, database, lock, .. } = self;
        drop(database);
        // What stays is an unused file.
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_file(path.with_extension("lock"));
        drop(lock);
    }

    /// The folder that it lies in.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Opens the store `name` in `directory` if it exists and no process has it.
    pub fn open_idle(directory: &Path, name: &str) -> Option<Self> {
        let exists = directory.join(format!("{name}.redb")).is_file();
        exists.then(|| Self::open(directory, name).ok()).flatten()
    }

    fn failed<E: std::error::Error + Send + Sync + 'static>(
        &self,
        action: &'static str,
    ) -> impl FnOnce(E) -> StoreError {
        let failed = io_error(action, &self.path);
        move |error| failed(Box::new(error))
    }

    fn read(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let reading = self.database.begin_read().map_err(self.failed("read"))?;
        let table = match reading.open_table(ENTRIES) {
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            other => other.map_err(self.failed("read"))?,
        };
        Ok(table.get(key).map_err(self.failed("read"))?.map(|value| value.value().to_vec()))
    }

    fn write(&self, ops: &[Op]) -> Result<(), StoreError> {
        let writing = self.database.begin_write().map_err(self.failed("write"))?;
        {
            let mut table = writing.open_table(ENTRIES).map_err(self.failed("write"))?;
            for op in ops {
                match op {
                    Op::Put { key, value } => {
                        table.insert(key.as_str(), value.as_slice()).map_err(self.failed("write"))?;
                    }
                    Op::Delete { key } => {
                        table.remove(key.as_str()).map_err(self.failed("write"))?;
                    }
                }
            }
        }
        writing.commit().map_err(self.failed("write"))
    }
}

impl CoordinationStore for EmbeddedStore {
    async fn campaign(&mut self, candidate: &str, at_least: Epoch) -> Result<Leadership, StoreError> {
        let known = match self.read(EPOCH)? {
            None => 0,
            Some(bytes) => bytes.try_into().map(u64::from_le_bytes).map_err(|_| self.damaged(Damage::epoch(EPOCH)))?,
        };
        let epoch = Epoch(known.max(at_least.0).saturating_add(1));
        self.write(&[Op::Put { key: EPOCH.into(), value: epoch.0.to_le_bytes().to_vec() }])?;
        (self.epoch, self.candidate) = (epoch, Some(candidate.to_owned()));
        // For a process that finds the lock held; the lock itself, not this text, is what counts.
        let _ = self
            .lock
            .set_len(0)
            .and_then(|()| self.lock.rewind())
            .and_then(|()| self.lock.write_all(candidate.as_bytes()));
        Ok(Leadership { epoch })
    }

    async fn resign(&mut self, leadership: &Leadership) -> Result<(), StoreError> {
        // The lock stays: only the end of this store lets another one in.
        if leadership.epoch == self.epoch {
            (self.epoch, self.candidate) = (Epoch(0), None);
        }
        Ok(())
    }

    fn status(&self) -> watch::Receiver<LeadershipStatus> {
        self.status.subscribe()
    }

    async fn leader(&self) -> Result<Option<LeaderRecord>, StoreError> {
        Ok(self.candidate.clone().map(|holder| LeaderRecord { epoch: self.epoch, holder }))
    }

    async fn vacancy(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn commit(&mut self, leadership: &Leadership, ops: Vec<Op>) -> Result<(), StoreError> {
        if leadership.epoch != self.epoch {
            return Err(StoreError::Fenced(leadership.epoch));
        }
        if ops.len() > MAX_OPS {
            return Err(StoreError::TooLarge(ops.len()));
        }
        self.write(&ops)
    }

    fn damaged(&self, damage: Damage) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), source: Box::new(damage) }
    }

    async fn scan(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let reading = self.database.begin_read().map_err(self.failed("read"))?;
        let table = match reading.open_table(ENTRIES) {
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            other => other.map_err(self.failed("read"))?,
        };
        let from = after.unwrap_or(prefix);
        let mut found = Vec::new();
        for entry in table.range(from..).map_err(self.failed("read"))? {
            let (key, value) = entry.map_err(self.failed("read"))?;
            if !key.value().starts_with(prefix) || found.len() == limit {
                break;
            }
            if after != Some(key.value()) {
                found.push((key.value().to_owned(), value.value().to_vec()));
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &str, value: &[u8]) -> Op {
        Op::Put { key: key.into(), value: value.to_vec() }
    }

    #[tokio::test]
    async fn epochs_grow_and_old_ones_are_fenced() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = EmbeddedStore::open(dir.path(), "run").unwrap();
        let first = store.campaign("a", Epoch(0)).await.unwrap();
        store.commit(&first, vec![put("k/1", b"one")]).await.unwrap();
        drop(store);
        let mut store = EmbeddedStore::open(dir.path(), "run").unwrap();
        let second = store.campaign("b", Epoch(7)).await.unwrap();
        assert_eq!((first.epoch, second.epoch), (Epoch(1), Epoch(8)));
        assert!(matches!(store.commit(&first, vec![put("k/1", b"late")]).await, Err(StoreError::Fenced(Epoch(1)))));
        assert_eq!(store.scan_all("k/").await.unwrap(), [("k/1".to_owned(), b"one".to_vec())]);
    }

    #[tokio::test]
    async fn a_store_that_is_discarded_leaves_nothing_and_its_name_can_be_used_again() {
        let dir = tempfile::tempdir().unwrap();
        // A dot in the name is no extension.
        let mut store = EmbeddedStore::open(dir.path(), "run.7").unwrap();
        store.campaign("a", Epoch(4)).await.unwrap();
        assert!(matches!(EmbeddedStore::open(dir.path(), "run.7"), Err(StoreError::Held { holder }) if holder == "a"));
        store.discard();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let mut again = EmbeddedStore::open(dir.path(), "run.7").unwrap();
        assert_eq!(again.campaign("b", Epoch(5)).await.unwrap().epoch, Epoch(6));
    }

    #[tokio::test]
    async fn a_master_killed_while_its_store_is_made_leaves_nothing_to_stumble_over() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("run.partial"), [0; 4096]).unwrap();
        assert!(EmbeddedStore::open_idle(dir.path(), "run").is_none());
        let mut store = EmbeddedStore::open(dir.path(), "run").unwrap();
        store.campaign("a", Epoch(0)).await.unwrap();
        assert!(EmbeddedStore::open_idle(dir.path(), "run").is_none(), "it is in use");
        drop(store);
        assert!(EmbeddedStore::open_idle(dir.path(), "run").is_some());
    }

    #[test]
    fn a_damaged_store_says_that_the_run_does_not_need_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("run.redb"), [0; 4096]).unwrap();
        let error = EmbeddedStore::open(dir.path(), "run").unwrap_err();
        assert!(error.to_string().contains("remove it and resume"), "{error}");
    }

    #[tokio::test]
    async fn a_second_master_is_told_who_holds_the_store() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = EmbeddedStore::open(dir.path(), "run").unwrap();
        store.campaign("process 17 on host h", Epoch(0)).await.unwrap();
        let error = EmbeddedStore::open(dir.path(), "run").unwrap_err();
        assert!(matches!(&error, StoreError::Held { holder } if holder == "process 17 on host h"), "{error}");
    }

    #[tokio::test]
    async fn scans_page_by_page_within_the_prefix() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = EmbeddedStore::open(dir.path(), "run").unwrap();
        let lead = store.campaign("a", Epoch(0)).await.unwrap();
        let ops = (0..1201).map(|i| put(&format!("p/{i:05}"), &[1])).chain([put("q/0", &[2]), put("o/9", &[3])]);
        for part in ops.collect::<Vec<_>>().chunks(MAX_OPS) {
            store.commit(&lead, part.to_vec()).await.unwrap();
        }
        let all = store.scan_all("p/").await.unwrap();
        assert_eq!(all.len(), 1201);
        assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0));
        store.commit(&lead, vec![Op::Delete { key: "p/00000".into() }]).await.unwrap();
        assert_eq!(store.scan("p/", None, 1).await.unwrap()[0].0, "p/00001");
    }
}
