//! The token that a master leaves where workers of a shared home look: `<state>/join/<host>_<port>`, mode 0600.
//!
//! It exists as long as the master listens. One that a killed master left is overwritten by the next, or runs out.

use super::vault::write_private;
use compass_common::join_token::{self, JoinToken};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the join token {path}")]
pub struct JoinFileError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

/// Files of a join token, mode 0600. Dropping it removes them.
#[derive(Debug)]
pub struct JoinFile {
    paths: Vec<PathBuf>,
}

impl JoinFile {
    /// Writes the token under each of the names of this master into each of the state folders.
    ///
    /// # Errors
    /// The first of the folders takes no file; the folders after it are for convenience.
    pub fn write(states: &[&Path], hosts: &[String], port: u16, token: &JoinToken) -> Result<Self, JoinFileError> {
        let line = format!("{}\n", token.to_line().expose());
        let mut written = Self { paths: Vec::new() };
        for (at, state) in states.iter().enumerate() {
            let folder = join_token::folder(state);
            for host in hosts {
                let path = folder.join(join_token::file_name(host, port));
                match put(&folder, &path, line.as_bytes()) {
                    Ok(()) => written.paths.push(path),
                    Err(source) if at == 0 => return Err(JoinFileError { path, source }),
                    Err(error) => tracing::debug!(path = %path.display(), %error, "no join token left here"),
                }
            }
        }
        Ok(written)
    }

    /// One of them, for workers that are launched.
    pub fn path(&self) -> Option<&Path> {
        self.paths.first().map(PathBuf::as_path)
    }
}

/// In one step: a worker that looks must not find half a token.
fn put(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let partial = folder.join(format!(".partial-{}", std::process::id()));
    write_private(&partial, bytes)?;
    std::fs::rename(&partial, path)
}

impl Drop for JoinFile {
    fn drop(&mut self) {
        for path in &self.paths {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_types::ids::Digest;
    use compass_types::secret::Secret;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_lies_there_for_its_owner_and_goes_with_the_master() {
        let state = tempfile::tempdir().unwrap();
        let token = JoinToken { id: "a".into(), secret: Secret::new("b"), authority: Digest::of(b"c") };
        let hosts = ["head".to_owned(), "127.0.0.1".to_owned()];
        let nowhere = Path::new("/proc/nowhere");
        let file = JoinFile::write(&[state.path(), nowhere], &hosts, 50051, &token).unwrap();
        let path = state.path().join("join/head_50051");
        assert_eq!(file.path(), Some(path.as_path()));
        assert_eq!(JoinToken::parse(&std::fs::read_to_string(&path).unwrap()), Ok(token.clone()));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(state.path().join("join")).unwrap().permissions().mode() & 0o777, 0o700);
        drop(file);
        assert_eq!(std::fs::read_dir(state.path().join("join")).unwrap().count(), 0);
        assert!(JoinFile::write(&[nowhere], &hosts, 1, &token).is_err());
    }
}
