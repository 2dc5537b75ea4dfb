//! The runs below some folders, and the ones of them that are open.

use super::opened::OpenedRun;
use compass_run_folder::RunFolder;
use compass_scoring::{ScoreError, latest_table};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Open runs at most: the one that was opened first gives way.
const OPEN: usize = 4;
/// A run that is not over is read again after this, and after [`REST`] times as long as reading took.
const FRESH: Duration = Duration::from_secs(5);
const REST: u32 = 20;

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Listed {
    pub name: String,
    pub folder: PathBuf,
    /// Set if it has a table.
    pub scored: bool,
}

#[derive(Debug)]
struct Kept {
    run: Arc<OpenedRun>,
    folder: PathBuf,
    until: Option<Instant>,
}

/// The runs of some folders.
#[derive(Debug, Default)]
pub struct Shelf {
    work_dirs: Mutex<BTreeSet<PathBuf>>,
    open: Mutex<VecDeque<Kept>>,
}

impl Shelf {
    /// Shows the runs of another folder as well.
    pub fn add(&self, work_dir: &Path) {
        self.work_dirs.lock().unwrap_or_else(PoisonError::into_inner).insert(work_dir.to_owned());
    }

    /// The runs, the latest names first. Two folders may have a run of the same name: the first folder's is shown.
    pub fn runs(&self) -> Vec<Listed> {
        let folders = self.work_dirs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut found = BTreeMap::new();
        for folder in folders {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
            for run in entries.filter_map(|path| RunFolder::at(&path)) {
                let scored = latest_table(run.root()).is_some();
                found.entry(run.name()).or_insert(Listed { name: run.name(), folder: run.root().to_owned(), scored });
            }
        }
        found.into_values().rev().collect()
    }

    /// The folder of a run by its name, which is one name and no path.
    pub fn find(&self, name: &str) -> Option<RunFolder> {
        let is_name = Path::new(name).components().eq([Component::Normal(name.as_ref())]);
        let folders = self.work_dirs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        folders.iter().filter(|_| is_name).find_map(|folder| RunFolder::at(&folder.join(name)))
    }

    /// Opens a run by its name; concurrent callers for the same run wait for the first. Waits for the disk.
    ///
    /// # Errors
    /// Its plan or its ledger is damaged.
    pub fn open(&self, name: &str) -> Result<Option<Arc<OpenedRun>>, ScoreError> {
        let Some(folder) = self.find(name) else { return Ok(None) };
        let (now, root) = (Instant::now(), folder.root().to_owned());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|kept| kept.until.is_none_or(|until| now < until));
        if let Some(kept) = open.iter().find(|kept| kept.folder == root) {
            return Ok(Some(kept.run.clone()));
        }
        // A table that comes while the ledger is read belongs to a later state.
        let is_over = latest_table(&root).is_some();
        let run = Arc::new(OpenedRun::read(folder)?);
        let rest = FRESH.max(now.elapsed() * REST);
        let until = (!is_over).then(|| Instant::now() + rest);
        if open.len() >= OPEN {
            open.pop_front();
        }
        open.push_back(Kept { run: run.clone(), folder: root, until });
        Ok(Some(run))
    }
}
