//! Locations of a worker's join token: the file given by name, or a file that a master left in this home directory.

use compass_common::join_token::{DEFAULT_STATE, JoinToken, file_name, folder, is_loopback, loopback_name};
use compass_common::private_file::{self, PrivateFileError};
use compass_common::regular_file;
use std::path::{Path, PathBuf};

/// Files that may contain the join token. Read whenever a token is needed, as a master may start later than its worker.
#[derive(Clone, Debug, Default)]
pub struct JoinTokenSource {
    /// `--token-file`, COMPASS_TOKEN_FILE.
    pub file: Option<PathBuf>,
    /// Folder in which masters of this home directory write their tokens.
    pub state_folder: Option<PathBuf>,
}

impl JoinTokenSource {
    /// Returns the source for a user with the home directory `home`.
    pub fn of(file: Option<PathBuf>, home: Option<&Path>) -> Self {
        Self { file, state_folder: home.map(|home| folder(&home.join(DEFAULT_STATE))) }
    }

    /// Returns the token for a master, if there is one.
    ///
    /// # Errors
    /// The named file is unusable, or other users can read a token.
    pub fn find(&self, master: &str) -> Result<Option<JoinToken>, String> {
        if let Some(path) = &self.file {
            let help = "write the line that `compass-master token create` printed into it";
            let text = private_file::read_text(path).map_err(|error| fault(path, error))?;
            let token = JoinToken::parse(&text);
            return token.map(Some).map_err(|error| format!("no join token in {}: {error}; {help}", path.display()));
        }
        let address = master.rsplit_once(':');
        let Some((folder, (host, port))) = self.state_folder.as_deref().zip(address) else { return Ok(None) };
        let Ok(port) = port.parse::<u16>() else { return Ok(None) };
        let name = match is_loopback(host) {
            true => file_name(&loopback_name(&rustix::system::uname().nodename().to_string_lossy()), port),
            false => file_name(host, port),
        };
        match read(&folder.join(name))? {
            Some(token) => Ok(Some(token)),
            None => only_one_of(folder, port).as_deref().map_or(Ok(None), read),
        }
    }
}

/// Reads the token that a master left in a file; `None` if the file does not exist.
fn read(path: &Path) -> Result<Option<JoinToken>, String> {
    match private_file::read_text(path) {
        Ok(text) => Ok(JoinToken::parse(&text).ok()),
        Err(error @ PrivateFileError::Exposed { .. }) => Err(fault(path, error)),
        Err(PrivateFileError::Read { .. }) => Ok(None),
    }
}

fn fault(path: &Path, error: PrivateFileError) -> String {
    match error {
        PrivateFileError::Read { source, .. } => format!("cannot read the join token {}: {source}", path.display()),
        exposed @ PrivateFileError::Exposed { .. } => format!("the join token {exposed}"),
    }
}

/// Returns a file of this port if all files of this port hold the same token. A master may have another name here than
/// on its own host, and writes a file for each of its names.
fn only_one_of(folder: &Path, port: u16) -> Option<PathBuf> {
    let ending = format!("_{port}");
    let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let of_port = entries.filter(|path| path.to_string_lossy().ends_with(&ending));
    let known: Vec<(PathBuf, String)> = of_port
        .filter_map(|path| regular_file::read_text(&path, regular_file::SMALL).ok().map(|text| (path, text)))
        .collect();
    let (first, text) = known.first()?;
    known.iter().all(|(_, other)| other == text).then(|| first.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_types::ids::Digest;
    use compass_types::secret::Secret;

    fn token(id: &str) -> JoinToken {
        JoinToken { id: id.into(), secret: Secret::new("s"), authority: Digest::of(b"a") }
    }

    fn write(path: &Path, text: &str) {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    }

    fn put(folder: &Path, name: &str, id: &str) {
        std::fs::create_dir_all(folder).unwrap();
        write(&folder.join(name), token(id).to_line().expose());
    }

    #[test]
    fn the_named_file_comes_first_and_its_errors_are_reported() {
        let home = tempfile::tempdir().unwrap();
        let named = home.path().join("t");
        let tokens = JoinTokenSource::of(Some(named.clone()), Some(home.path()));
        assert!(tokens.find("head:1").unwrap_err().contains("cannot read the join token"));
        write(&named, "hunter2\n");
        let error = tokens.find("head:1").unwrap_err();
        assert!(
            error.contains("compass-1.") && error.contains("token create") && !error.contains("hunter2"),
            "{error}"
        );
        write(&named, token("a").to_line().expose());
        assert_eq!(tokens.find("head:1"), Ok(Some(token("a"))));
        std::fs::set_permissions(&named, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        let exposed = tokens.find("head:1").unwrap_err();
        assert!(exposed.contains("can be read by other users") && exposed.contains("chmod 600"), "{exposed}");
    }

    #[test]
    fn token_is_found_by_host_and_port_or_by_an_unambiguous_port() {
        let home = tempfile::tempdir().unwrap();
        let tokens = JoinTokenSource::of(None, Some(home.path()));
        assert_eq!(tokens.find("head:50051"), Ok(None));
        let left = tokens.state_folder.clone().unwrap();
        put(&left, "head_50051", "a");
        put(&left, "loopback-elsewhere_50051", "a");
        put(&left, "head_7", "b");
        put(&left, "other_7", "c");
        assert_eq!(tokens.find("head:50051"), Ok(Some(token("a"))));
        assert_eq!(tokens.find("10.0.0.1:50051"), Ok(Some(token("a"))), "the host has another name here");
        assert_eq!(tokens.find("head:7"), Ok(Some(token("b"))));
        assert_eq!(tokens.find("10.0.0.1:7"), Ok(None), "ambiguous: two masters have this port");
        assert_eq!(tokens.find("[::1]:8"), Ok(None));
        let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
        put(&left, &file_name(&loopback_name(&here), 7), "d");
        for loopback in ["127.0.0.1:7", "localhost:7", "[::1]:7", "127.8.8.8:7"] {
            assert_eq!(tokens.find(loopback), Ok(Some(token("d"))), "{loopback}");
        }
        assert_eq!(tokens.find("127.0.0.1:50051"), Ok(Some(token("a"))), "a forwarded port");
    }
}
