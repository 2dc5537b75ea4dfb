//! Access to the port: open on loopback, else by the bearer token.

use compass_common::private_file::{self, PrivateFileError};
use std::io;
use std::path::{Path, PathBuf};

/// Why the token cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("cannot read master.http_token_file {path}")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("master.http_token_file {0}")]
    Exposed(PrivateFileError),
    #[error("master.http_token_file {path} is empty; write a random secret of at least 32 characters to it")]
    Empty { path: PathBuf },
}

/// What a request's `Authorization: Bearer ...` must say. It shows itself nowhere.
#[derive(Clone)]
pub struct BearerToken(blake3::Hash);

impl std::fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BearerToken(..)")
    }
}

impl BearerToken {
    /// The first line of a file, without the blanks around it.
    ///
    /// # Errors
    /// The file cannot be read, can be read by others, or holds nothing.
    pub fn read(path: &Path) -> Result<Self, AccessError> {
        let text = private_file::read_text(path).map_err(|error| match error {
            PrivateFileError::Read { path, source } => AccessError::Read { path, source },
            exposed @ PrivateFileError::Exposed { .. } => AccessError::Exposed(exposed),
        })?;
        match text.lines().next().map(str::trim).filter(|word| !word.is_empty()) {
            Some(word) => Ok(Self::new(word)),
            None => Err(AccessError::Empty { path: path.to_owned() }),
        }
    }

    pub(super) fn new(word: &str) -> Self {
        Self(blake3::hash(word.as_bytes()))
    }

    /// Whether the value of an `Authorization` header has the token. Hashes are compared, in constant time: how long it takes
    /// tells nothing about the word.
    pub(super) fn is_borne_by(&self, header: Option<&str>) -> bool {
        let word = header.and_then(|header| {
            let (scheme, word) = header.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(word.trim())
        });
        word.is_some_and(|word| blake3::hash(word.as_bytes()) == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_itself_opens() {
        let token = BearerToken::new("s3cret");
        assert!(token.is_borne_by(Some("Bearer s3cret")) && token.is_borne_by(Some("bearer  s3cret ")));
        for wrong in [None, Some(""), Some("s3cret"), Some("Bearer"), Some("Bearer s3cre"), Some("Basic s3cret")] {
            assert!(!token.is_borne_by(wrong), "{wrong:?}");
        }
        assert_eq!(format!("{token:?}"), "BearerToken(..)");
    }

    #[test]
    fn a_file_without_a_word_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert!(BearerToken::read(&path).unwrap_err().to_string().contains("cannot read master.http_token_file"));
        let write = |text: &str| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        };
        write("\n");
        assert!(BearerToken::read(&path).unwrap_err().to_string().contains("is empty"));
        write(" word \nmore\n");
        assert!(BearerToken::read(&path).unwrap().is_borne_by(Some("Bearer word")));
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        let exposed = BearerToken::read(&path).unwrap_err().to_string();
        assert!(exposed.contains("can be read by other users") && exposed.contains("chmod 600"), "{exposed}");
    }
}
