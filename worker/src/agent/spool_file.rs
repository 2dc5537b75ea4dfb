//! The spool's file: in the temporary folder, without a name, deleted with its process.

use compass_agent::SpoolFile;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

/// A file that is created on first use.
#[derive(Debug)]
pub(super) struct UnnamedFile {
    folder: PathBuf,
    file: Option<File>,
}

impl UnnamedFile {
    /// Creates the file in this folder.
    pub(super) fn in_folder(folder: PathBuf) -> Self {
        Self { folder, file: None }
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

impl SpoolFile for UnnamedFile {
    fn write(&mut self, start: u64, bytes: &[u8]) -> io::Result<()> {
        let folder = self.folder.display().to_string();
        let written = self.open().and_then(|file| file.write_all_at(bytes, start));
        written.map_err(|error| io::Error::new(error.kind(), format!("{folder}: {error}")))
    }

    fn read(&self, start: u64, length: u64) -> io::Result<Vec<u8>> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, start)?;
        Ok(bytes)
    }

    fn clear(&mut self) {
        // If it cannot be truncated, it is overwritten.
        let _ = self.file.as_ref().map(|file| file.set_len(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_bytes_are_read_back_and_the_file_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = UnnamedFile::in_folder(folder.path().to_owned());
        assert!(file.read(0, 1).is_err(), "the file is empty");
        file.write(0, b"first").unwrap();
        file.write(5, b"second").unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!((file.read(5, 6).unwrap(), file.read(0, 5).unwrap()), (b"second".to_vec(), b"first".to_vec()));
        file.clear();
        assert!(file.read(0, 5).is_err(), "its space was freed");
    }

    #[test]
    fn error_names_a_folder_that_cannot_be_written() {
        let error = UnnamedFile::in_folder("/proc/nowhere".into()).write(0, b"x").unwrap_err();
        assert!(error.to_string().starts_with("/proc/nowhere: "), "{error}");
    }
}
