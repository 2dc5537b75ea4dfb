//! Runs `compass-master convert`: a configuration of OpenCompass, written as TOML.

use super::cli::job_arguments::JobArguments;
use compass_cli::exit;
use compass_common::status_output::{OutputError, print, print_status, report};
use compass_config::Overrides;
use compass_diagnostic::Diagnostic;
use compass_jobs::{Failure, Mode};
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Reason why the file was not written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}")]
struct WriteError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

/// Writes what was understood of the configuration to `output`, or to standard output.
///
/// # Errors
/// It cannot be read, it is TOML already, flags change it, or the file is there or cannot be written.
pub fn run(job: &JobArguments, output: Option<&Path>) -> Result<u8, Failure> {
    let Some(path) = job.config() else {
        let missing = Diagnostic::error("no configuration is named");
        return Err(Failure::bad_input(missing.with_help("write `compass-master convert eval_xxx.py -o eval.toml`")));
    };
    let flags = job.overrides();
    if changes_the_job(job, &flags) {
        let refusal = Diagnostic::error("flags over the configuration are not written into the file");
        return Err(Failure::bad_input(refusal.with_help("leave them out here, and give them when the file is run")));
    }
    let here = std::env::current_dir().ok();
    let folder = output.map_or(here, |output| Some(output.parent().unwrap_or(Path::new("")).to_path_buf()));
    let converted = compass_config::convert(path, folder.as_deref(), &flags).map_err(Failure::bad_input)?;
    for note in &converted.notes {
        report(note);
    }
    match output {
        None => print(converted.text).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))?,
        Some(output) => {
            write(output, &converted.text).map_err(|source| refused(output, source))?;
            print_status(format!("{0} is written; compass-master --config {0} --dry-run checks it", output.display()));
        }
    }
    Ok(exit::SCORED)
}

/// Returns whether flags say more than where the configuration and its data are found.
fn changes_the_job(job: &JobArguments, flags: &Overrides) -> bool {
    let import = Overrides {
        home: flags.home.clone(),
        python: flags.python.clone(),
        hub_caches: flags.hub_caches.clone(),
        remote: flags.remote.clone(),
        local_environment: flags.local_environment.clone(),
        data_dir: flags.data_dir.clone(),
        skip_unsupported: flags.skip_unsupported,
        ..Overrides::default()
    };
    let of_a_run = job.mode != Mode::All || job.reuse.is_some() || job.dry_run || job.debug || job.unsafe_local_exec;
    *flags != import || of_a_run
}

/// Never over a file that is there: it may have been edited since.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

fn refused(path: &Path, source: io::Error) -> Failure {
    if source.kind() == io::ErrorKind::AlreadyExists {
        let there = Diagnostic::error(format!("`{}` is there already", path.display()));
        return Failure::bad_input(there.with_help("name another file, or remove it"));
    }
    Failure::of(exit::BAD_INPUT, &WriteError { path: path.to_owned(), source })
}
