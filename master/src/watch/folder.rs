//! The folder in which checkpoints appear, and looks at them. Waits for the disk.

use super::subject::Subject;
use compass_watch::{Event, Examined, LATEST, Look, Pattern, examine, lack, look};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A list is believed without another look only once the folder has not changed for so long: some file systems keep times to
/// the second.
const COARSEST: Duration = Duration::from_secs(2);

/// A folder of checkpoints.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    pattern: Pattern,
    markers: Vec<String>,
    /// Set if a file beside the checkpoints says up to which step they are whole.
    has_latest: bool,
    /// Time of the folder's last change before it was listed last, and time of that listing.
    listed: Option<(SystemTime, SystemTime)>,
}

impl Folder {
    pub(super) fn new(path: PathBuf, pattern: Pattern, markers: Vec<String>) -> Self {
        let (latest, markers): (Vec<String>, Vec<String>) = markers.into_iter().partition(|marker| marker == LATEST);
        Self { path, pattern, markers, has_latest: !latest.is_empty(), listed: None }
    }

    /// The names of checkpoints, or `None` where there can be no others than last time.
    pub(super) fn list(&mut self) -> io::Result<Option<BTreeSet<String>>> {
        let changed = std::fs::metadata(&self.path)?.modified()?;
        let now = SystemTime::now();
        if let Some((before, at)) = self.listed
            && before == changed
            && at.duration_since(changed).is_ok_and(|age| age >= COARSEST)
        {
            return Ok(None);
        }
        let mut names = BTreeSet::new();
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            // They stand in tables and in names of folders.
            if !self.pattern.matches(&name) || name.contains(char::is_control) {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() || kind.is_symlink() && entry.path().is_dir() {
                names.insert(name);
            }
        }
        self.listed = Some((changed, now));
        Ok(Some(names))
    }

    /// Looks at a checkpoint.
    pub(super) fn look(&self, subject: &Subject, name: &str) -> io::Result<Option<Look>> {
        let folders = subject.folders(name);
        let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
        // Before the files, which are whole once they are named.
        let lack = if self.has_latest { lack(&self.path, name)? } else { None };
        Ok(look::look(&folders, &self.markers, SystemTime::now())?.map(|look| look.lacking(lack)))
    }

    /// Reads a checkpoint, and looks at it again.
    pub(super) fn examine(&self, subject: &Subject, name: &str) -> Event {
        let found = examine(&subject.parts(name));
        let name = name.to_owned();
        match self.look(subject, &name) {
            Ok(after) => Event::Examined { name, found, after },
            // Told by the next look.
            Err(error) => {
                let found = Examined::Lacks(format!("cannot look at it: {error}"));
                Event::Examined { name, found, after: None }
            }
        }
    }
}
