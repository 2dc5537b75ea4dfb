//! The interpreter that a user names: the search for its path.

use crate::fault::Fault;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The absolute path of `named`: a path, or a name that is looked for in the folders of `search`. Links stay, because an
/// environment is where its link to an interpreter is.
///
/// # Errors
/// The program does not exist.
pub(crate) fn locate(named: &Path, search: Option<&str>) -> Result<PathBuf, Fault> {
    let fault = |reason: &str| Fault::Program { program: named.to_path_buf(), reason: reason.to_owned() };
    let is_name = named.components().count() == 1 && !named.exists();
    let found = match (is_name, search) {
        (true, Some(search)) => {
            let folders = std::env::split_paths(search);
            folders.map(|folder| folder.join(named)).find(|path| is_program(path))
        }
        _ => std::path::absolute(named).ok(),
    };
    let found = found.ok_or_else(|| fault("no such program on the PATH"))?;
    match std::fs::metadata(&found) {
        Ok(metadata) if metadata.is_dir() => Err(fault("it is a folder; name its bin/python")),
        Ok(_) if is_program(&found) => Ok(found),
        Ok(_) => Err(fault("it is not executable")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(fault("no such file")),
        Err(error) => Err(fault(&error.to_string())),
    }
}

/// Returns whether a path is a file that may be executed.
pub(crate) fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
