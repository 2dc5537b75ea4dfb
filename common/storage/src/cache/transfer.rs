//! One file into the cache: pieces side by side, written where they belong, and a rename once all are there.

use super::journal::Journal;
use super::reader::RangeReader;
use crate::fault::{FaultKind, StorageFault, disk};
use crate::mark::ObjectMark;
use compass_common::regular_file;
use futures_util::stream::{self, StreamExt as _};
use ring::digest;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Pieces of one file that are asked for at the same time.
const AT_ONCE: usize = 8;

/// A checksum that the source names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sum {
    Sha256(String),
    /// As git names a file's content.
    GitBlob(String),
}

/// A file to fetch.
pub(crate) struct Transfer {
    pub(crate) reader: Box<dyn RangeReader>,
    pub(crate) mark: ObjectMark,
    pub(crate) target: PathBuf,
    pub(crate) incomplete: PathBuf,
    pub(crate) sum: Option<Sum>,
}

impl Transfer {
    /// Fetches what is missing; tells every piece's bytes to `arrived`, those that were here before first.
    pub(crate) async fn run(self, arrived: &(dyn Fn(u64, bool) + Sync)) -> Result<(), StorageFault> {
        let failed = |error: io::Error| disk("write", &self.incomplete, &error);
        if let Some(folder) = self.target.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).open(&self.incomplete).map_err(failed)?;
        let mut journal = Journal::open(&self.incomplete, &self.mark).map_err(failed)?;
        file.set_len(self.mark.bytes).map_err(failed)?;
        arrived(journal.bytes_done(self.mark.bytes), true);
        let reader = &self.reader;
        let read = |(piece, range): (u64, std::ops::Range<u64>)| async move {
            let start = range.start;
            Ok::<_, StorageFault>((piece, start, reader.read(range).await?))
        };
        let failure = Mutex::new(None);
        let is_well = || failure.lock().unwrap_or_else(PoisonError::into_inner).is_none();
        let missing = journal.missing(self.mark.bytes).into_iter().take_while(|_| is_well());
        let mut pieces = stream::iter(missing).map(read).buffer_unordered(AT_ONCE);
        while let Some(piece) = pieces.next().await {
            let (piece, start, bytes) = match piece {
                Ok(piece) => piece,
                // Pieces that were asked for by now are kept all the same.
                Err(fault) => {
                    let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    // What needs a person is told first.
                    let is_first = failure.as_ref().is_none_or(StorageFault::may_be_retried);
                    if is_first {
                        *failure = Some(fault);
                    }
                    continue;
                }
            };
            let keep = || {
                file.write_all_at(&bytes, start)?;
                file.sync_data()?;
                journal.note(piece)
            };
            tokio::task::block_in_place(keep).map_err(failed)?;
            arrived(bytes.len() as u64, false);
        }
        drop(pieces);
        if let Some(fault) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(fault);
        }
        tokio::task::block_in_place(|| self.finish(&file))
    }

    fn finish(&self, file: &File) -> Result<(), StorageFault> {
        let failed = |error: io::Error| disk("write", &self.target, &error);
        if let Some(sum) = &self.sum {
            let found = sum.of(&self.incomplete, self.mark.bytes).map_err(failed)?;
            if &found != sum {
                // Nothing of it can be trusted.
                let _ = std::fs::remove_file(Journal::path(&self.incomplete));
                let _ = std::fs::remove_file(&self.incomplete);
                let name = self.target.file_name().unwrap_or_default().display();
                let message = format!(
                    "`{name}` arrived with other content than its checksum tells: {found:?} instead of {sum:?}"
                );
                return Err(StorageFault::new(
                    FaultKind::Unavailable,
                    message,
                    "try again; a proxy or a mirror may be broken",
                ));
            }
        }
        file.sync_all().map_err(failed)?;
        std::fs::rename(&self.incomplete, &self.target).map_err(failed)?;
        let _ = std::fs::remove_file(Journal::path(&self.incomplete));
        match self.target.parent() {
            Some(folder) => regular_file::sync(folder).map_err(failed),
            None => Ok(()),
        }
    }
}

impl Sum {
    /// The same kind of sum of a file.
    fn of(&self, path: &Path, bytes: u64) -> io::Result<Self> {
        let mut context = match self {
            Self::Sha256(_) => digest::Context::new(&digest::SHA256),
            Self::GitBlob(_) => {
                let mut context = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
                context.update(format!("blob {bytes}\0").as_bytes());
                context
            }
        };
        let mut file = regular_file::open(path)?;
        let mut buffer = vec![0; 1 << 20];
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => context.update(buffer.get(..read).unwrap_or_default()),
            }
        }
        let text = context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(match self {
            Self::Sha256(_) => Self::Sha256(text),
            Self::GitBlob(_) => Self::GitBlob(text),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_git_and_of_the_hub() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hello");
        std::fs::write(&path, "hello\n").unwrap();
        // `git hash-object`, `sha256sum`.
        let git = Sum::GitBlob("ce013625030ba8dba906f756967f9e9ca394464a".into());
        assert_eq!(git.of(&path, 6).unwrap(), git);
        let sha = Sum::Sha256("5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03".into());
        assert_eq!(sha.of(&path, 6).unwrap(), sha);
    }
}
