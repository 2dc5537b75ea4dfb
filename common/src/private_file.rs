//! Files with secrets: read only where no other user can read them, and written with the same rights.

use crate::regular_file;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Largest file with a secret.
const MOST_BYTES: u64 = 1 << 20;

/// Reason why a secret is not read.
#[derive(Debug, thiserror::Error)]
pub enum PrivateFileError {
    #[error("cannot read {path}")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Any reader of it has what it protects.
    #[error("{path} can be read by other users; take their rights away: chmod 600 {path}")]
    Exposed { path: PathBuf },
}

impl PrivateFileError {
    /// As an error of the system, for callers that return no other.
    pub fn into_io(self) -> io::Error {
        match self {
            Self::Read { source, .. } => source,
            exposed @ Self::Exposed { .. } => io::Error::new(io::ErrorKind::PermissionDenied, exposed.to_string()),
        }
    }
}

/// The bytes of a file that only this user can read. A file of another owner, as service managers hand secrets out, may
/// have a group.
///
/// # Errors
/// [`PrivateFileError`].
pub fn read(path: &Path) -> Result<Vec<u8>, PrivateFileError> {
    let failed = |source| PrivateFileError::Read { path: path.to_owned(), source };
    let file = regular_file::open(path).map_err(failed)?;
    if is_exposed(&file.metadata().map_err(failed)?) {
        return Err(PrivateFileError::Exposed { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// As [`read`], as text.
///
/// # Errors
/// As [`read`]; a file that is not UTF-8 cannot be read.
pub fn read_text(path: &Path) -> Result<String, PrivateFileError> {
    let text = String::from_utf8(read(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
    text.map_err(|source| PrivateFileError::Read { path: path.to_owned(), source })
}

fn is_exposed(file: &Metadata) -> bool {
    let own = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == file.uid());
    file.mode() & if own { 0o077 } else { 0o007 } != 0
}

/// Makes a folder that only its owner enters, with those above it. One that is there keeps its mode.
///
/// # Errors
/// Errors of the system.
pub fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Options for a file that only its owner reads.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Takes the rights of others away from a file that an earlier version made.
///
/// # Errors
/// Errors of the system: it is another user's.
pub fn close_to_others(file: &File) -> io::Result<()> {
    match file.metadata()?.mode() & 0o077 {
        0 => Ok(()),
        _ => file.set_permissions(Permissions::from_mode(0o600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_others_can_read_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "word").unwrap();
        for (mode, is_read) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o666, false)] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            match read_text(&path) {
                Ok(text) => assert!(is_read && text == "word", "{mode:o}"),
                Err(error) => {
                    let said = error.to_string();
                    assert!(!is_read && said.contains("can be read by other users"), "{mode:o}: {said}");
                    assert!(said.ends_with(&format!("chmod 600 {}", path.display())), "{said}");
                }
            }
        }
        let missing = read(&folder.path().join("none")).unwrap_err();
        assert_eq!(missing.into_io().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_is_made_is_private_and_what_was_open_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        make_folder(&deep).unwrap();
        make_folder(&deep).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&deep), mode(&folder.path().join("a"))), (0o700, 0o700));
        let file = options().write(true).create(true).open(deep.join("f")).unwrap();
        assert_eq!(mode(&deep.join("f")), 0o600);
        file.set_permissions(Permissions::from_mode(0o644)).unwrap();
        close_to_others(&file).unwrap();
        assert_eq!(mode(&deep.join("f")), 0o600);
    }
}
