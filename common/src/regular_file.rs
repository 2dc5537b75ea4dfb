//! The one way to read files: regular ones alone, and no more of them than fits. A named pipe blocks its reader until somebody
//! writes, and a device may never end; both look like files to a path. `deploy/files.sh` forbids other ways.

use rustix::fs::OFlags;
use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Bytes at most of what people write, and programs about one thing: configurations, templates, indexes, records.
pub const SMALL: u64 = 64 << 20;
/// Bytes at most of what grows with a model or with a run: tokenizers, plans, tables, predictions.
pub const LARGE: u64 = 4 << 30;

/// Opens a regular file; symbolic links are followed.
///
/// # Errors
/// Errors of the system; [`io::ErrorKind::IsADirectory`] or [`io::ErrorKind::InvalidInput`] with the actual kind of file.
pub fn open(path: &Path) -> io::Result<File> {
    // Asked before it is opened, since to open a device may be to act; a pipe that took its place meanwhile blocks no process.
    check(&std::fs::metadata(path)?)?;
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// The whole of a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open`], and [`io::ErrorKind::FileTooLarge`].
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let too_large = || {
        let most = if most < 10 << 20 { format!("{} KiB", most / 1024) } else { format!("{} MiB", most >> 20) };
        io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {most}"))
    };
    let file = open(path)?;
    if file.metadata()?.len() > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// As [`read`], of a file of text.
///
/// # Errors
/// As [`read`], and [`io::ErrorKind::InvalidData`] where it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8");
    String::from_utf8(read(path, most)?).map_err(not_text)
}

/// The last `most` bytes of a regular file, or all of a shorter one.
///
/// # Errors
/// As [`open`].
pub fn read_end(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a regular file to append to it; makes it if it is missing.
///
/// # Errors
/// As [`open`].
pub fn append(path: &Path) -> io::Result<File> {
    match std::fs::metadata(path) {
        Ok(found) => check(&found)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().create(true).append(true).custom_flags(flags).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Makes a file durable, or the names in a folder.
///
/// # Errors
/// Errors of the system.
pub fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
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
            assert_eq!(append(path).unwrap_err().to_string(), error.to_string());
        }
        append(&folder.path().join("new")).unwrap();
        append(&folder.path().join("new")).unwrap();
        assert_eq!(open(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "four").unwrap();
        assert_eq!(read(&path, 4).unwrap(), b"four");
        assert_eq!(read(&path, 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!((read_end(&path, 2).unwrap(), read_end(&path, 9).unwrap()), (b"ur".to_vec(), b"four".to_vec()));
        assert_eq!(read_text(&path, 4).unwrap(), "four");
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_text(&path, 4).unwrap_err().kind(), io::ErrorKind::InvalidData);
        // Of what takes no room on a disk, nothing is read beyond the limit.
        let sparse = std::fs::File::create(&path).unwrap();
        sparse.set_len(LARGE + 1).unwrap();
        assert_eq!(read(&path, LARGE).unwrap_err().to_string(), "larger than 4096 MiB");
        sync(folder.path()).unwrap();
    }
}
