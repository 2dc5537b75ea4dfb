//! Where results wait that memory should not hold: a file without a name in the temporary folder, gone with the agent.
//!
//! A place is good until it is freed. The file is emptied whenever nothing in it is needed any more.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

/// Most bytes in the file. Beyond them, and where it cannot be written, results stay in memory and nothing new is begun.
const MOST_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// Where something lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    start: u64,
    length: u64,
}

/// See the module. Makes its file when it is first needed.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    file: Option<File>,
    end: u64,
    /// Bytes that are needed.
    live: u64,
    /// It could not be written: not tried again until it is empty.
    broken: bool,
}

impl Default for Spool {
    fn default() -> Self {
        Self::in_folder(std::env::temp_dir())
    }
}

impl Spool {
    pub(super) fn in_folder(folder: PathBuf) -> Self {
        Self { folder, file: None, end: 0, live: 0, broken: false }
    }

    /// Whether it takes more.
    pub(super) fn takes(&self) -> bool {
        !self.broken && self.end < MOST_BYTES
    }

    /// Puts bytes away; `None` where that is impossible, which is said.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Option<Place> {
        if !self.takes() {
            return None;
        }
        let place = Place { start: self.end, length: bytes.len() as u64 };
        match self.open().and_then(|file| file.write_all_at(bytes, place.start)) {
            Ok(()) => {
                self.end += place.length;
                self.live += place.length;
                Some(place)
            }
            Err(error) => {
                tracing::warn!(%error, folder = %self.folder.display(), "cannot put results aside; nothing new is begun");
                self.broken = true;
                None
            }
        }
    }

    /// What lies in a place.
    ///
    /// # Errors
    /// The disk lost it.
    pub(super) fn get(&self, place: Place) -> io::Result<Vec<u8>> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = vec![0; place.length as usize];
        file.read_exact_at(&mut bytes, place.start)?;
        Ok(bytes)
    }

    /// Nobody needs it any more.
    pub(super) fn free(&mut self, place: Place) {
        self.live = self.live.saturating_sub(place.length);
        if self.live == 0 {
            self.end = 0;
            self.broken = false;
            // Its room goes back to others; a file that cannot be emptied is written over.
            let _ = self.file.as_ref().map(|file| file.set_len(0));
        }
    }

    fn open(&mut self) -> io::Result<&File> {
        if self.file.is_none() {
            let name = format!("compass-spool-{}-{:p}", std::process::id(), self);
            let path = self.folder.join(name);
            let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
            std::fs::remove_file(&path)?;
            self.file = Some(file);
        }
        self.file.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_away_comes_back_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::in_folder(folder.path().to_owned());
        let (a, b) = (spool.put(b"first").unwrap(), spool.put(b"second").unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!((spool.get(b).unwrap(), spool.get(a).unwrap()), (b"second".to_vec(), b"first".to_vec()));
        spool.free(a);
        assert_eq!(spool.get(b).unwrap(), b"second");
        spool.free(b);
        assert_eq!((spool.end, spool.live), (0, 0));
        let c = spool.put(b"third").unwrap();
        assert_eq!((c.start, spool.get(c).unwrap()), (0, b"third".to_vec()));
    }

    #[test]
    fn a_folder_that_takes_nothing_is_no_disaster() {
        let mut spool = Spool::in_folder("/proc/nowhere".into());
        assert_eq!(spool.put(b"x"), None);
        assert!(!spool.takes());
    }
}
