//! Reports as files: whole or not at all.

use compass_cli::exit;
use compass_diagnostic::Diagnostic;
use compass_jobs::Failure;
use compass_run_folder::write_atomically;
use std::path::Path;

/// Writes a report.
///
/// # Errors
/// The folder is missing or the disk refuses; the exit code tells them apart.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        let missing =
            Diagnostic::error(format!("cannot write {}: there is no folder {}", path.display(), folder.display()));
        return Err(Failure::bad_input(missing.with_help("create it, or name another file")));
    }
    if path.is_dir() {
        let taken = Diagnostic::error(format!("cannot write {}: it is a folder", path.display()));
        return Err(Failure::bad_input(taken.with_help("name a file in it")));
    }
    // A bare name is of the current folder.
    write_atomically(&Path::new(".").join(path), text.as_bytes())
        .map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))
}
