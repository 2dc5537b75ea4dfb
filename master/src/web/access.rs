//! Access to the port: open on loopback, else by the bearer token.

use super::settings::HttpSettings;
use compass_common::private_file::{self, PrivateFileError};
use std::io;
use std::path::{Path, PathBuf};

/// Why the token cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("cannot read {setting} {path}")]
    Read {
        setting: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{setting} {why}")]
    Exposed { setting: &'static str, why: PrivateFileError },
    #[error("{setting} {path} is empty; write a random secret of at least 32 characters to it")]
    Empty { setting: &'static str, path: PathBuf },
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
    /// The first line of a file, without the blanks around it. `settings` named the file.
    ///
    /// # Errors
    /// The file cannot be read, can be read by others, or holds nothing.
    pub fn read(path: &Path, settings: HttpSettings) -> Result<Self, AccessError> {
        let setting = settings.token_file();
        let text = private_file::read_text(path).map_err(|error| match error {
            PrivateFileError::Read { path, source } => AccessError::Read { setting, path, source },
            why @ PrivateFileError::Exposed { .. } => AccessError::Exposed { setting, why },
        })?;
        match text.lines().next().map(str::trim).filter(|word| !word.is_empty()) {
            Some(word) => Ok(Self::new(word)),
            None => Err(AccessError::Empty { setting, path: path.to_owned() }),
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
        let read = |path: &Path| BearerToken::read(path, HttpSettings::Configuration);
        let of_view = BearerToken::read(&path, HttpSettings::ViewFlags).unwrap_err().to_string();
        assert!(of_view.starts_with("cannot read --token-file"), "{of_view}");
        assert!(read(&path).unwrap_err().to_string().contains("cannot read master.http_token_file"));
        let write = |text: &str| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        };
        write("\n");
        assert!(read(&path).unwrap_err().to_string().contains("is empty"));
        write(" word \nmore\n");
        assert!(read(&path).unwrap().is_borne_by(Some("Bearer word")));
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        let exposed = read(&path).unwrap_err().to_string();
        assert!(exposed.contains("can be read by other users") && exposed.contains("chmod 600"), "{exposed}");
    }
}
