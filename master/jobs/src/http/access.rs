//! Access to the port: open on loopback, else by the bearer token.

use super::settings::HttpSettings;
use compass_common::private_file::{self, PrivateFileError};
use std::io;
use std::path::{Path, PathBuf};

/// Reason why the token cannot be used.
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
    #[error(
        "the first line of {setting} {path} has {characters} characters; write a random secret of at least {least} to it: \
         openssl rand -hex 32 > {path}",
        least = LEAST
    )]
    Short { setting: &'static str, path: PathBuf, characters: usize },
}

/// Characters of the shortest secret that is taken: a shorter one can be guessed.
const LEAST: usize = 32;

/// Token that a request's `Authorization: Bearer ...` must have. It shows itself nowhere.
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
    /// The file cannot be read, can be read by others, or its first line is too short for a secret.
    pub fn read(path: &Path, settings: HttpSettings) -> Result<Self, AccessError> {
        let setting = settings.token_file();
        let text = private_file::read_text(path).map_err(|error| match error {
            PrivateFileError::Read { path, source } => AccessError::Read { setting, path, source },
            why @ PrivateFileError::Exposed { .. } => AccessError::Exposed { setting, why },
        })?;
        let word = text.lines().next().unwrap_or_default().trim();
        match word.chars().count() {
            LEAST.. => Ok(Self::new(word)),
            characters => Err(AccessError::Short { setting, path: path.to_owned(), characters }),
        }
    }

    pub fn new(word: &str) -> Self {
        Self(blake3::hash(word.as_bytes()))
    }

    /// Returns whether the value of an `Authorization` header has the token. Hashes are compared, in constant time: the duration
    /// tells nothing about the word.
    pub fn is_borne_by(&self, header: Option<&str>) -> bool {
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
    fn a_file_without_a_long_secret_is_refused_by_name() {
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
        let secret = "s".repeat(LEAST);
        let nearly = format!(" {}  \n{secret}\n", &secret[1..]);
        for (text, characters) in [("\n", 0), ("abcde\n", 5), (nearly.as_str(), LEAST - 1)] {
            write(text);
            let short = read(&path).unwrap_err().to_string();
            assert!(short.contains(&format!("has {characters} characters")), "{short}");
            assert!(short.contains("at least 32") && short.ends_with(&format!("> {}", path.display())), "{short}");
        }
        write(&format!(" {secret} \nmore\n"));
        assert!(read(&path).unwrap().is_borne_by(Some(&format!("Bearer {secret}"))));
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        let exposed = read(&path).unwrap_err().to_string();
        assert!(exposed.contains("can be read by other users") && exposed.contains("chmod 600"), "{exposed}");
    }
}
