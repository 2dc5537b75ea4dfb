//! The run folder `<work_dir>/<YYYYmmdd_HHMMSS>/`, laid out as OpenCompass users expect.

use compass_common::encode::{self, EncodeError};
use compass_common::{private_file, regular_file};
use compass_settings::WrittenConfig;
use compass_types::ids::Digest;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Reason why a run folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("cannot {action} {path}")]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{key}` cannot be written: {path}; name a folder where you may write")]
    NotWritable {
        key: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Encode(#[from] EncodeError),
    #[error("there is no run to resume in {work_dir}; leave -r out to start one")]
    NoRun { work_dir: PathBuf },
    #[error("there is no run {name} in {work_dir}; it holds: {known}")]
    UnknownRun { work_dir: PathBuf, name: String, known: String },
}

/// Below a run folder: the second stage, which runs answers that are programs.
const EXECUTION: &str = "execution";

/// Within the plan's folder: the name of the run from which this one took over equal results.
const EARLIER: &str = "earlier";

/// Within the plan's folder: marks that the predictions in the run folder are another evaluator's.
const ADOPTED: &str = "adopted";

/// Worker of results that another evaluator wrote: its files stay as they are.
pub const ADOPTED_WORKER: &str = "adopted predictions";

/// A run that continues.
#[derive(Clone, Debug)]
pub enum Begun {
    Planned(RunFolder),
    /// A master was stopped there before its plan was whole.
    Unplanned(RunFolder),
}

/// Returns whether a folder was made for a run whose plan is not whole. One with predictions is another evaluator's.
fn is_unplanned(root: &Path) -> bool {
    root.join("plan").is_dir() && !root.join("plan/job.json").is_file() && !root.join("predictions").exists()
}

/// Paths of a run folder.
#[derive(Clone, Debug)]
pub struct RunFolder {
    root: PathBuf,
}

/// Names the content of the checkpoint that a watch made the folder for.
const CHECKPOINT: &str = "checkpoint";
/// Bytes of a file that are written at once.
const BUFFER: usize = 256 << 10;
/// Ending of the names of files that are being written.
const PARTIAL: &str = ".partial";

/// Returns a mark that no other process has, on whatever host: masters share run folders, and one that was stopped in the
/// middle of a file must not continue in another's.
fn mark() -> String {
    static PROCESS: OnceLock<String> = OnceLock::new();
    static FILES: AtomicU64 = AtomicU64::new(0);
    let process = PROCESS.get_or_init(|| {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        Digest::of(format!("{host} {} {now}", std::process::id()).as_bytes()).short()
    });
    format!("{process}-{}", FILES.fetch_add(1, Ordering::Relaxed))
}

/// Removes half-written copies of a file, left by processes that died over it.
pub fn remove_leftovers(path: &Path) {
    let Some(name) = path.file_name().map(|name| format!("{}.", name.to_string_lossy())) else { return };
    for entry in path.parent().map(fs::read_dir).into_iter().flatten().flatten().flatten() {
        let other = entry.file_name().to_string_lossy().into_owned();
        if other.starts_with(&name) && other.ends_with(PARTIAL) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Writes a file so that it is there whole or not at all, whatever dies.
///
/// # Errors
/// Errors of the disk.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    let failed = |source| FolderError::Io { action: "write", path: path.to_owned(), source };
    write_atomically_by(path, |out| out.write_all(bytes).map_err(failed))
}

/// As [`write_atomically`], with the content that `write` writes.
///
/// # Errors
/// Errors of the disk, and of `write`.
pub fn write_atomically_by<E: From<FolderError>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |action| move |source| FolderError::Io { action, path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed("create the folder of"))?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}{PARTIAL}", mark()));
    let partial = path.with_file_name(name);
    let file = fs::File::create(&partial).map_err(failed("create"))?;
    let mut out = io::BufWriter::with_capacity(BUFFER, file);
    write(&mut out)?;
    let file = out.into_inner().map_err(|error| failed("write")(error.into_error()))?;
    file.sync_all().map_err(failed("sync"))?;
    fs::rename(&partial, path).map_err(failed("name"))?;
    regular_file::sync(folder).map_err(failed("sync the folder of"))?;
    Ok(())
}

impl FolderError {
    /// Returns whether the configuration is to blame, rather than a disk that is full or broken.
    pub fn is_bad_input(&self) -> bool {
        use io::ErrorKind as Kind;
        match self {
            Self::NoRun { .. } | Self::UnknownRun { .. } | Self::Encode(_) => true,
            Self::Io { .. } => false,
            Self::NotWritable { source, .. } => matches!(
                source.kind(),
                Kind::PermissionDenied
                    | Kind::NotFound
                    | Kind::NotADirectory
                    | Kind::AlreadyExists
                    | Kind::ReadOnlyFilesystem
            ),
        }
    }
}

/// Makes the folder that the configuration names by `key`, and tries to write there.
///
/// # Errors
/// [`FolderError::NotWritable`].
pub fn check_writable(key: &'static str, folder: &Path) -> Result<(), FolderError> {
    let probe = folder.join(format!(".compass-probe-{}", std::process::id()));
    // A state folder is private; runs are for colleagues to read.
    let made = if key == "state_dir" { private_file::make_folder(folder) } else { fs::create_dir_all(folder) };
    let tried = made.and_then(|()| fs::write(&probe, [])).and_then(|()| fs::remove_file(&probe));
    tried.map_err(|source| FolderError::NotWritable { key, path: folder.to_owned(), source })
}

impl RunFolder {
    /// Makes a new run folder named after the time `stamp` (YYYYmmdd_HHMMSS); a name that is taken gets a suffix.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn create(work_dir: &Path, stamp: &str) -> Result<Self, FolderError> {
        let failed = |path: &Path, source| FolderError::Io { action: "create", path: path.to_owned(), source };
        fs::create_dir_all(work_dir).map_err(|source| failed(work_dir, source))?;
        for suffix in 0.. {
            let name = if suffix == 0 { stamp.to_owned() } else { format!("{stamp}_{suffix}") };
            let root = work_dir.join(name);
            match fs::create_dir(&root) {
                Ok(()) => {
                    let folder = Self { root };
                    for inner in [folder.plan(), folder.ledger()] {
                        fs::create_dir_all(&inner).map_err(|source| failed(&inner, source))?;
                    }
                    // The names must survive a power cut as the files in them do.
                    for named in [&folder.root, work_dir] {
                        let synced = regular_file::sync(named);
                        synced.map_err(|source| failed(named, source))?;
                    }
                    return Ok(folder);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(failed(&root, source)),
            }
        }
        Err(FolderError::NoRun { work_dir: work_dir.to_owned() })
    }

    /// As [`Self::create`], for the content of a checkpoint alone: a name may be taken again when its folder was removed.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn create_for(work_dir: &Path, stamp: &str, content: &Digest) -> Result<Self, FolderError> {
        let folder = Self::create(work_dir, stamp)?;
        write_atomically(&folder.root.join(CHECKPOINT), content.to_string().as_bytes())?;
        Ok(folder)
    }

    /// The content of a checkpoint that a folder was made for, as text; `None` for every other folder.
    pub fn made_for(root: &Path) -> Option<String> {
        regular_file::read_text(&root.join(CHECKPOINT), regular_file::SMALL).ok()
    }

    /// A folder of predictions that another evaluator wrote: named, and without a plan of ours. A name that `work_dir` does not
    /// have is a path relative to the current directory.
    pub fn foreign(work_dir: &Path, name: &str) -> Option<Self> {
        let inside = work_dir.join(name);
        let root = if inside.exists() { inside } else { std::path::absolute(name).ok()? };
        (root.join("predictions").is_dir() && !root.join("plan/job.json").is_file()).then_some(Self { root })
    }

    /// Makes the folders of the plan and the ledger in a folder without them.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn furnish(&self) -> Result<(), FolderError> {
        for inner in [self.plan(), self.ledger()] {
            fs::create_dir_all(&inner).map_err(|source| FolderError::Io { action: "create", path: inner, source })?;
        }
        Ok(())
    }

    /// Finds a run to resume: by name, or the latest (names sort by time). Only folders that hold a plan count.
    ///
    /// # Errors
    /// There is no run, or none of that name, or the folder cannot be listed.
    pub fn find(work_dir: &Path, name: Option<&str>) -> Result<Self, FolderError> {
        let mut known: Vec<String> = Vec::new();
        let listed = match fs::read_dir(work_dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(FolderError::Io { action: "list", path: work_dir.to_owned(), source: error });
            }
            listed => listed,
        };
        for entry in listed.into_iter().flatten().flatten() {
            if entry.path().join("plan/job.json").is_file() {
                known.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        known.sort();
        let Some(latest) = known.last().cloned() else {
            return Err(FolderError::NoRun { work_dir: work_dir.to_owned() });
        };
        let name = match name {
            None | Some("latest") => latest,
            Some(name) if known.iter().any(|known| known == name) => name.to_owned(),
            Some(name) => {
                let (work_dir, name, known) = (work_dir.to_owned(), name.to_owned(), known.join(", "));
                return Err(FolderError::UnknownRun { work_dir, name, known });
            }
        };
        Ok(Self { root: work_dir.join(name) })
    }

    /// Finds a run to continue, as [`Self::find`] does; a folder in which a master was stopped before its plan was whole
    /// counts as well, under its name, or when it is the latest.
    ///
    /// # Errors
    /// There is no run, or none of that name.
    pub fn find_begun(work_dir: &Path, name: Option<&str>) -> Result<Begun, FolderError> {
        let unplanned = |name: String| Self { root: work_dir.join(name) };
        match name {
            None | Some("latest") => {
                let names = fs::read_dir(work_dir).into_iter().flatten().flatten();
                let names = names.filter(|entry| is_unplanned(&entry.path()));
                let begun = names.map(|entry| entry.file_name().to_string_lossy().into_owned()).max();
                match (Self::find(work_dir, None), begun) {
                    (Ok(planned), Some(begun)) if planned.name() < begun => Ok(Begun::Unplanned(unplanned(begun))),
                    (Err(FolderError::NoRun { .. }), Some(begun)) => Ok(Begun::Unplanned(unplanned(begun))),
                    (planned, _) => planned.map(Begun::Planned),
                }
            }
            Some(name) if is_unplanned(&work_dir.join(name)) => Ok(Begun::Unplanned(unplanned(name.to_owned()))),
            Some(name) => Self::find(work_dir, Some(name)).map(Begun::Planned),
        }
    }

    /// Clears what a master left that was stopped before its plan was whole: no leader has written there yet.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn clear(&self) -> Result<(), FolderError> {
        for inner in [self.plan(), self.ledger()] {
            let failed = |source| FolderError::Io { action: "clear", path: inner.clone(), source };
            // The folder itself stays: a process that is killed here leaves one that a run was begun in.
            let entries = match fs::read_dir(&inner) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries.map_err(failed)?,
            };
            for entry in entries {
                let path = entry.map_err(failed)?.path();
                if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.map_err(failed)?;
            }
        }
        self.furnish()
    }

    /// Records the run from which this one takes over equal results, before anything of it is there.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn keep_earlier(&self, earlier: &Self) -> Result<(), FolderError> {
        write_atomically(&self.plan().join(EARLIER), earlier.name().as_bytes())
    }

    /// The name of that run.
    pub fn earlier(&self) -> Option<String> {
        regular_file::read_text(&self.plan().join(EARLIER), regular_file::SMALL).ok()
    }

    /// Records that the predictions in this folder are another evaluator's.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn mark_adopted(&self) -> Result<(), FolderError> {
        write_atomically(&self.plan().join(ADOPTED), &[])
    }

    /// Returns whether the predictions in this folder are another evaluator's, so that none is written here.
    pub fn is_adopted(&self) -> bool {
        self.plan().join(ADOPTED).is_file()
    }

    /// The run in this very folder; `None` when there is no plan in it.
    pub fn at(root: &Path) -> Option<Self> {
        root.join("plan/job.json").is_file().then(|| Self { root: root.to_owned() })
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder as a person would write it: without detours, relative to the current directory if it is below it.
    pub fn shown(&self) -> String {
        let whole = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
        whole.strip_prefix(&here).unwrap_or(&whole).display().to_string()
    }

    /// The folder's name, which is the run's: its time.
    pub fn name(&self) -> String {
        self.root.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub fn plan(&self) -> PathBuf {
        self.root.join("plan")
    }

    pub fn ledger(&self) -> PathBuf {
        self.root.join("ledger")
    }

    /// The second stage of this run for the programs that a plan of this digest names: a run of its own, in a folder below.
    pub fn execution(&self, plan: &Digest) -> Self {
        Self { root: self.root.join(EXECUTION).join(plan.short()) }
    }

    /// Returns the second stages that this run has had, in order of their names, without the stages that never had a plan.
    pub fn executions(&self) -> Vec<Self> {
        let entries = fs::read_dir(self.root.join(EXECUTION)).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        found.retain(|root| root.join("plan/job.json").is_file());
        found.sort();
        found.into_iter().map(|root| Self { root }).collect()
    }

    pub fn configs(&self) -> PathBuf {
        self.root.join("configs")
    }

    /// Returns the path of the run's whole configuration, as a file that `--config` takes; missing if it cannot be written as one.
    pub fn resolved_config(&self) -> PathBuf {
        self.configs().join("resolved.toml")
    }

    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    pub fn summary(&self) -> PathBuf {
        self.root.join("summary")
    }

    pub fn predictions(&self, model: &str, dataset: &str) -> PathBuf {
        self.root.join("predictions").join(file_name(model)).join(format!("{}.json", file_name(dataset)))
    }

    /// Predictions of a data set that lacks some: never under the name of whole ones, so that no leader of old, however
    /// late it wakes, writes over them.
    pub fn unfinished_predictions(&self, model: &str, dataset: &str) -> PathBuf {
        let whole = self.predictions(model, dataset);
        whole.with_file_name("tmp").join(whole.file_name().unwrap_or_default())
    }

    /// Removes what was written of them, once the whole ones are there.
    pub fn remove_unfinished_predictions(&self, model: &str, dataset: &str) {
        let path = self.unfinished_predictions(model, dataset);
        let _ = fs::remove_file(&path);
        remove_leftovers(&path);
        // The last one takes the folder with it.
        let _ = path.parent().map(fs::remove_dir);
    }

    pub fn results(&self, model: &str, dataset: &str) -> PathBuf {
        self.root.join("results").join(file_name(model)).join(format!("{}.json", file_name(dataset)))
    }
}

/// An abbr as a file name: a slash would open another folder.
fn file_name(abbr: &str) -> String {
    abbr.replace(['/', '\\'], "_")
}

/// Keeps the files of a configuration, the command line, and the one file that replaces both, for `--config` to take again.
///
/// # Errors
/// Errors of the disk.
pub fn keep_written(folder: &RunFolder, written: &WrittenConfig) -> Result<(), FolderError> {
    let configs = folder.configs();
    for (at, (name, text)) in written.files.iter().enumerate() {
        let is_taken = written.files.iter().take(at).any(|(other, _)| other == name);
        let name = if is_taken { format!("{}_{name}", at + 1) } else { name.clone() };
        write_atomically(&configs.join("original").join(name), text.as_bytes())?;
    }
    if let Ok(resolved) = &written.resolved {
        write_atomically(&folder.resolved_config(), resolved.as_bytes())?;
    }
    let words: Vec<String> = std::env::args().map(|word| quoted(&word)).collect();
    let here = std::env::current_dir().unwrap_or_default();
    let text = format!("# in {}\n{}\n", here.display(), words.join(" "));
    write_atomically(&configs.join("command.txt"), text.as_bytes())
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Keeps the resolved configuration beside the run, as OpenCompass does.
///
/// # Errors
/// Errors of the disk, and paths that are not UTF-8.
pub fn keep_config(folder: &RunFolder, config: &compass_settings::Config, stamp: &str) -> Result<(), FolderError> {
    let json = encode::pretty_json("the configuration", config)?;
    write_atomically(&folder.configs().join(format!("{stamp}_{}.json", std::process::id())), &json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_of_another_evaluator_are_found_beside_the_current_directory_too() {
        let work_dir = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir_in(".").unwrap();
        fs::create_dir(elsewhere.path().join("predictions")).unwrap();
        let name = Path::new(".").join(elsewhere.path().file_name().unwrap());
        let found = RunFolder::foreign(work_dir.path(), name.to_str().unwrap()).unwrap();
        assert!(found.root.is_absolute() && found.root.join("predictions").is_dir());
        fs::create_dir_all(work_dir.path().join("x/predictions")).unwrap();
        assert_eq!(RunFolder::foreign(work_dir.path(), "x").unwrap().root, work_dir.path().join("x"));
        assert!(RunFolder::foreign(work_dir.path(), "y").is_none());
    }
}
