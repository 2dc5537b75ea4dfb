//! Opening of regular files alone. A named pipe blocks its reader until somebody writes, and a device may never end; both
//! look like files to a path.

use std::fs::{File, FileType, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

/// Opens a regular file; symbolic links are followed.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::IsADirectory`] or [`io::ErrorKind::InvalidInput`] with what it is instead.
pub fn open(path: &Path) -> io::Result<File> {
    // Asked before it is opened: to open a pipe is to wait.
    check(&std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// The whole of a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open`], and [`io::ErrorKind::FileTooLarge`].
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let error = format!("larger than {} KiB", most / 1024);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, error));
    }
    Ok(bytes)
}

fn check(found: &Metadata) -> io::Result<()> {
    match other_kind(found.file_type()) {
        None => Ok(()),
        Some(kind) => {
            let is_folder = found.is_dir();
            let error = if is_folder { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
            Err(io::Error::new(error, format!("{kind}, not a regular file")))
        }
    }
}

fn other_kind(kind: FileType) -> Option<&'static str> {
    let kinds = [
        (kind.is_dir(), "a folder"),
        (kind.is_fifo(), "a named pipe"),
        (kind.is_char_device() || kind.is_block_device(), "a device"),
        (kind.is_socket(), "a socket"),
    ];
    kinds.iter().find(|(is, _)| *is).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        let kinds = [
            (folder.path(), "a folder"),
            (&pipe, "a named pipe"),
            (&link, "a named pipe"),
            (&socket, "a socket"),
            (Path::new("/dev/zero"), "a device"),
        ];
        for (path, kind) in kinds {
            let error = open(path).unwrap_err();
            assert_eq!(error.to_string(), format!("{kind}, not a regular file"), "{}", path.display());
            let wanted = if path.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
            assert_eq!(error.kind(), wanted);
        }
        assert_eq!(open(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "four").unwrap();
        assert_eq!(read(&path, 4).unwrap(), b"four");
        assert_eq!(read(&path, 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
