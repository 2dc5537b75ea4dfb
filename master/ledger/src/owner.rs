//! The owner of a run folder: the master that writes there, as `owner.json` in the folder itself.
//!
//! A store decides who leads, but masters with different stores (two `state_dir`, two etcd) each find one without a leader.
//! What they share is the folder, so each holds a lock of this file while it works there: a master with an embedded store an
//! exclusive one, masters of one shared store a shared one, since that store decides between them.
//!
//! - **On a disk on this host** the lock is a fence: while its holder lives no other process gets it, and it ends with the
//!   process, however that dies.
//! - **On a network file system whose locks reach all hosts** (NFS as it is mounted by default, Lustre with `flock`, CephFS)
//!   it is one, too, as far as that file system keeps it over a lost connection.
//! - **Where they do not** (`nolock`, `local_lock`) the lock is got on every host. Then the file's time tells: its owner renews
//!   it every few seconds, and one on another host that does not for [`LEASE`] is gone. Before each commit a master looks
//!   whether the record still is its own; that is no fence, but ends a master that slept.

use compass_common::regular_file;
use rustix::fs::{Timespec, Timestamps};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

/// Pause between two renewals.
const BEAT: Duration = Duration::from_secs(5);
/// Longest silence of an owner on another host before it counts as gone, where locks do not tell.
pub const LEASE: Duration = Duration::from_secs(16);

/// Reason why a run folder is not this master's.
#[derive(Debug, thiserror::Error)]
pub enum OwnerError {
    #[error(
        "another master works on this run: {holder}, with its state in {theirs}; this one has its in {ours}. Wait for it to \
         end, or stop it; its run can then be resumed with -r"
    )]
    Held { holder: String, theirs: String, ours: String },
    #[error(
        "{holder} has taken this run, with its state in {theirs}: this master was silent for too long. What it recorded \
         until then is kept"
    )]
    Taken { holder: String, theirs: String },
    #[error("the owner record {path} is not there any more; it was deleted or moved while this master worked there")]
    Gone { path: PathBuf },
    #[error("cannot {action} the owner record {path}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

/// The store of a master, as the owner of a run folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreId {
    /// For people, and what tells one shared store from another.
    pub name: String,
    /// Set if the store decides between several masters.
    pub is_shared: bool,
}

/// Contents of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    store: StoreId,
    host: String,
    pid: u32,
    /// The start of its system: locks and processes are known within one.
    boot: String,
    /// Mark that no other owner has.
    mark: String,
    /// Set if its master has left the folder in order.
    ended: bool,
}

impl Record {
    fn holder(&self) -> String {
        format!("process {} on {}", self.pid, self.host)
    }

    /// Returns whether a master of this record may work beside, or after, one of `other` without asking more: one store
    /// decides between them.
    fn shares_with(&self, other: &Self) -> bool {
        self.store.is_shared && self.store == other.store
    }
}

/// Answer of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    /// No process that this lock reaches has it.
    Got,
    /// Some process has it.
    Refused,
    /// Some process has it as this one may: as one of several masters of a shared store.
    Shared,
    /// This file system has none.
    Unknown,
}

/// State of the folder's ownership, which decides whether it may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ownership {
    Free,
    /// Its owner lives.
    Held,
    /// Its owner may live on another host: its silence decides.
    Doubtful,
}

/// Judges the record that was found. `reaches_all` says whether locks of this file system bind every host that sees it.
fn judge(found: Option<&Record>, me: &Record, lock: Lock, reaches_all: bool) -> Ownership {
    match (lock, found) {
        (Lock::Refused, _) => Ownership::Held,
        (Lock::Shared, found) if found.is_some_and(|found| me.shares_with(found)) => Ownership::Free,
        (Lock::Shared, _) => Ownership::Held,
        (Lock::Got | Lock::Unknown, None) => Ownership::Free,
        (_, Some(found)) if found.ended || me.shares_with(found) => Ownership::Free,
        (Lock::Got, Some(found)) if reaches_all || found.boot == me.boot => Ownership::Free,
        _ => Ownership::Doubtful,
    }
}

/// Magic numbers of file systems that other hosts may see: NFS, SMB, CIFS, Lustre, GPFS, CephFS, BeeGFS, 9P, AFS, FUSE.
const NETWORK: [u64; 10] = [
    0x6969,
    0xfe53_4d42,
    0xff53_4d42,
    0x0bd0_0bd0,
    0x4750_4653,
    0x00c3_6400,
    0x1983_0326,
    0x0102_1997,
    0x5346_414f,
    0x6573_5546,
];

fn is_of_this_host(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|fs| !NETWORK.contains(&(fs.f_type as u64)))
}

/// The right to write into a run folder; given up when it is dropped.
#[derive(Debug)]
pub struct Owner {
    path: PathBuf,
    file: File,
    record: Record,
    /// Inode and times of the file when it was last read and found to be ours.
    seen: Mutex<Option<(u64, u64, i64, i64)>>,
    /// Ends the renewals when it is dropped.
    _beats: mpsc::Sender<()>,
}

/// A try to take a run folder.
#[derive(Debug)]
pub enum Claim {
    Taken(Owner),
    Doubtful(Doubt),
}

/// A folder whose owner may live on another host.
#[derive(Debug)]
pub struct Doubt {
    path: PathBuf,
    file: File,
    me: Record,
    found: Record,
    modified: (i64, i64),
}

impl Owner {
    /// Tries to take the run folder `root` for a master whose store is `store`. May wait for the disk.
    ///
    /// # Errors
    /// [`OwnerError::Held`], or the disk refuses.
    pub fn claim(root: &Path, store: StoreId, host: String) -> Result<Claim, OwnerError> {
        let path = root.join("owner.json");
        let path = std::path::absolute(&path).unwrap_or(path);
        let failed = |action| {
            let path = path.clone();
            move |source| OwnerError::Io { action, path, source }
        };
        let file = File::options().create(true).truncate(false).read(true).write(true).open(&path);
        let mut file = file.map_err(failed("open"))?;
        let pid = std::process::id();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
        let mark = compass_store::unique_mark(&host);
        let me = Record { store, host, pid, boot, mark, ended: false };
        let lock = match file.try_lock() {
            Ok(()) => Lock::Got,
            Err(TryLockError::WouldBlock) if me.store.is_shared && file.try_lock_shared().is_ok() => Lock::Shared,
            Err(TryLockError::WouldBlock) => Lock::Refused,
            Err(TryLockError::Error(_)) => Lock::Unknown,
        };
        let found = read(&mut file).map_err(failed("read"))?;
        match judge(found.as_ref(), &me, lock, is_of_this_host(root)) {
            Ownership::Free => Self::begin(path, file, me).map(Claim::Taken),
            Ownership::Held => Err(held(found.as_ref(), &me)),
            Ownership::Doubtful => {
                let data = file.metadata().map_err(failed("examine"))?;
                let modified = (data.mtime(), data.mtime_nsec());
                let Some(found) = found else { return Self::begin(path, file, me).map(Claim::Taken) };
                Ok(Claim::Doubtful(Doubt { path, file, me, found, modified }))
            }
        }
    }

    fn begin(path: PathBuf, mut file: File, record: Record) -> Result<Self, OwnerError> {
        let failed = |action, source| OwnerError::Io { action, path: path.clone(), source };
        write(&mut file, &record).map_err(|source| failed("write", source))?;
        if record.store.is_shared {
            // Masters of the same store stand by, and may find this one asleep with its lock.
            let _ = file.lock_shared();
        }
        let renewed = file.try_clone().map_err(|source| failed("open", source))?;
        let (beats, ended) = mpsc::channel::<()>();
        let beat = move || {
            while ended.recv_timeout(BEAT) == Err(mpsc::RecvTimeoutError::Timeout) {
                // "Now" is the file server's time, and needs no more than the right to write.
                let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
                let _ = rustix::fs::futimens(&renewed, &Timestamps { last_access: now, last_modification: now });
            }
        };
        let thread = std::thread::Builder::new().name("run-owner".into()).spawn(beat);
        thread.map_err(|source| failed("renew", source))?;
        Ok(Self { path, file, record, seen: Mutex::new(None), _beats: beats })
    }

    /// Checks that the record is still that of this master. One `stat`, where nothing changed.
    ///
    /// # Errors
    /// [`OwnerError::Taken`] and [`OwnerError::Gone`], or the disk does not tell.
    pub fn check(&self) -> Result<(), OwnerError> {
        use io::ErrorKind as Kind;
        let failed = |source: io::Error| match source.kind() {
            Kind::NotFound | Kind::NotADirectory | Kind::StaleNetworkFileHandle => {
                OwnerError::Gone { path: self.path.clone() }
            }
            _ => OwnerError::Io { action: "read", path: self.path.clone(), source },
        };
        let data = fs::metadata(&self.path).map_err(failed)?;
        let now = Some((data.dev(), data.ino(), data.mtime(), data.mtime_nsec()));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == now {
            return Ok(());
        }
        let found = regular_file::open(&self.path).and_then(|mut file| read(&mut file)).map_err(failed)?;
        // What cannot be read proves nothing: another master of this store may just be writing it.
        match found.filter(|found| found.mark != self.record.mark && !self.record.shares_with(found)) {
            Some(other) => Err(OwnerError::Taken { holder: other.holder(), theirs: other.store.name }),
            None => {
                *seen = now;
                Ok(())
            }
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // The next owner on another host need not wait; where this fails it does.
        if read(&mut self.file).is_ok_and(|found| found.is_some_and(|found| found.mark == self.record.mark)) {
            self.record.ended = true;
            let _ = write(&mut self.file, &self.record);
        }
        // At once, whatever copies of the handle there are.
        let _ = self.file.unlock();
    }
}

impl Doubt {
    /// The master that may live.
    pub fn holder(&self) -> String {
        self.found.holder()
    }

    /// Takes the folder after its owner was silent for a [`LEASE`], which the caller has waited for.
    ///
    /// # Errors
    /// [`OwnerError::Held`] when it was heard meanwhile, or the disk refuses.
    pub fn resolve(mut self) -> Result<Owner, OwnerError> {
        // Opened once more: a network file system then asks its server.
        let failed = |source| OwnerError::Io { action: "read", path: self.path.clone(), source };
        let mut now = regular_file::open(&self.path).map_err(failed)?;
        let data = now.metadata().map_err(failed)?;
        let found = read(&mut now).map_err(failed)?;
        if (data.mtime(), data.mtime_nsec()) != self.modified && found.as_ref().is_none_or(|found| !found.ended) {
            return Err(held(found.as_ref().or(Some(&self.found)), &self.me));
        }
        self.file.rewind().map_err(failed)?;
        Owner::begin(self.path, self.file, self.me)
    }
}

fn held(found: Option<&Record>, me: &Record) -> OwnerError {
    let (holder, theirs) = match found {
        Some(found) => (found.holder(), found.store.name.clone()),
        None => ("a process on this host or another".into(), "a place unknown".into()),
    };
    OwnerError::Held { holder, theirs, ours: me.store.name.clone() }
}

/// The record of a file; `None` for an empty one, or one that cannot be understood.
fn read(file: &mut File) -> io::Result<Option<Record>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(regular_file::SMALL).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes).ok())
}

/// Writes in place: the lock belongs to this file, not to its name.
fn write(file: &mut File, record: &Record) -> io::Result<()> {
    let json = serde_json::to_vec_pretty(record)?;
    file.rewind()?;
    file.write_all(&json)?;
    file.set_len(json.len() as u64)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn store(name: &str, is_shared: bool) -> StoreId {
        StoreId { name: name.into(), is_shared }
    }

    fn claim(root: &Path, name: &str, is_shared: bool) -> Result<Owner, OwnerError> {
        match Owner::claim(root, store(name, is_shared), "here".into())? {
            Claim::Taken(owner) => Ok(owner),
            Claim::Doubtful(doubt) => panic!("{doubt:?}"),
        }
    }

    #[test]
    fn of_masters_with_different_stores_one_owns_a_folder() {
        let root = tempfile::tempdir().unwrap();
        let first = claim(root.path(), "state_dir /a", false).unwrap();
        for (name, is_shared) in [("state_dir /b", false), ("etcd cluster 1", true)] {
            let error = claim(root.path(), name, is_shared).unwrap_err().to_string();
            assert!(error.contains("with its state in state_dir /a; this one has its in"), "{error}");
            assert!(error.contains(&format!("process {} on here", std::process::id())), "{error}");
        }
        first.check().unwrap();
        drop(first);
        claim(root.path(), "state_dir /b", false).unwrap().check().unwrap();
    }

    #[test]
    fn masters_of_one_shared_store_own_a_folder_together() {
        let root = tempfile::tempdir().unwrap();
        let first = claim(root.path(), "etcd cluster 1", true).unwrap();
        let second = claim(root.path(), "etcd cluster 1", true).unwrap();
        second.check().unwrap();
        first.check().unwrap();
        assert!(matches!(claim(root.path(), "etcd cluster 2", true), Err(OwnerError::Held { .. })));
        assert!(matches!(claim(root.path(), "state_dir /a", false), Err(OwnerError::Held { .. })));
        drop(first);
        assert!(matches!(claim(root.path(), "state_dir /a", false), Err(OwnerError::Held { .. })));
        second.check().unwrap();
        drop(second);
        claim(root.path(), "state_dir /a", false).unwrap();
    }

    #[test]
    fn a_record_that_another_wrote_or_that_is_gone_ends_the_right() {
        let root = tempfile::tempdir().unwrap();
        let owner = claim(root.path(), "state_dir /a", false).unwrap();
        // As a master on a host that the lock does not reach would.
        let other = Record { mark: "other".into(), host: "there".into(), ..owner.record.clone() };
        write(&mut File::options().write(true).open(&owner.path).unwrap(), &other).unwrap();
        owner.file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(matches!(owner.check(), Err(OwnerError::Taken { holder, .. }) if holder.ends_with("on there")));
        let path = owner.path.clone();
        drop(owner);
        assert!(!read(&mut File::open(&path).unwrap()).unwrap().unwrap().ended, "not its own record any more");
        let owner = claim(root.path(), "state_dir /a", false).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(matches!(owner.check(), Err(OwnerError::Gone { .. })));
    }

    #[test]
    fn silence_decides_where_locks_do_not_reach() {
        let boot = |boot: &str| Record {
            store: store("state_dir /a", false),
            host: "node7".into(),
            pid: 7,
            boot: boot.into(),
            mark: boot.into(),
            ended: false,
        };
        let (me, there) = (boot("here"), boot("there"));
        assert_eq!(judge(None, &me, Lock::Got, false), Ownership::Free);
        assert_eq!(judge(None, &me, Lock::Refused, true), Ownership::Held);
        assert_eq!(judge(Some(&there), &me, Lock::Got, false), Ownership::Doubtful);
        assert_eq!(judge(Some(&there), &me, Lock::Got, true), Ownership::Free, "a disk on this host");
        assert_eq!(judge(Some(&boot("here")), &me, Lock::Got, false), Ownership::Free, "the lock tells on this host");
        assert_eq!(judge(Some(&there), &me, Lock::Refused, false), Ownership::Held);
        assert_eq!(judge(Some(&Record { ended: true, ..there }), &me, Lock::Got, false), Ownership::Free);
    }

    #[test]
    fn an_owner_that_is_heard_meanwhile_lives() {
        let root = tempfile::tempdir().unwrap();
        let doubt = || {
            let path = root.path().join("owner.json");
            let owner = claim(root.path(), "state_dir /a", false).unwrap();
            let (found, me) = (owner.record.clone(), Record { mark: "me".into(), ..owner.record.clone() });
            drop(owner);
            let mut file = File::options().read(true).write(true).open(&path).unwrap();
            write(&mut file, &found).unwrap();
            let data = file.metadata().unwrap();
            Doubt { path, file, me, found, modified: (data.mtime(), data.mtime_nsec()) }
        };
        let silent = doubt();
        let owner = silent.resolve().unwrap();
        owner.check().unwrap();
        drop(owner);
        fs::remove_file(root.path().join("owner.json")).unwrap();
        let heard = doubt();
        heard.file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(matches!(heard.resolve(), Err(OwnerError::Held { .. })));
    }
}
