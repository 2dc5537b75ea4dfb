//! Starts a process for each section, one after the other, and collects their rows.

use super::arguments::GpuCheckOptions;
use super::child::{self, NO_DEVICE};
use super::report::{document, goal_lines, table};
use super::section_process::{Ended, RunningGroup, remove};
use crate::engine_link::cuda_environment;
use compass_engine::gpu_check::{CheckStatus, Finding, RandomConfig, Section};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// A section that would have less time is not begun.
const LEAST: Duration = Duration::from_secs(1);

/// Reason why nothing could be checked.
#[derive(Debug, thiserror::Error)]
enum CheckError {
    #[error("{0}")]
    Usage(String),
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot start a section: {0}")]
    Start(io::Error),
    #[error("cannot install handlers of signals: {0}")]
    Signals(io::Error),
}

/// Runs the check, or a section of it; see the help for exit codes.
pub fn run(options: GpuCheckOptions) -> ExitCode {
    if let Some((section, folder)) = &options.child {
        return child::run(&options, section, folder);
    }
    match check(&options) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "compass-worker: {error}");
            ExitCode::from(2)
        }
    }
}

/// A folder of this process's own, removed in the end.
struct OwnFolder(PathBuf);

impl OwnFolder {
    fn new() -> Result<Self, CheckError> {
        let path = std::env::temp_dir().join(format!("compass-gpu-check-{}", std::process::id()));
        match fs::create_dir(&path) {
            Ok(()) => Ok(Self(path)),
            Err(source) => Err(CheckError::Write { path, source }),
        }
    }

    /// Creates a folder of this name in it, unless it exists.
    fn folder(&self, name: &str) -> Result<PathBuf, CheckError> {
        let path = self.0.join(name);
        match fs::create_dir_all(&path) {
            Ok(()) => Ok(path),
            Err(source) => Err(CheckError::Write { path, source }),
        }
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// The model that is checked.
struct Model {
    name: String,
    folder: PathBuf,
    /// Name of the shape for which random weights are made.
    random: Option<String>,
}

impl Model {
    fn of(options: &GpuCheckOptions, own: &OwnFolder) -> Result<Self, CheckError> {
        if let Some(folder) = &options.model {
            if !folder.join("config.json").is_file() {
                let text =
                    format!("there is no config.json in {}: --model takes the directory of a model", folder.display());
                return Err(CheckError::Usage(text));
            }
            return Ok(Self { name: folder.display().to_string(), folder: folder.clone(), random: None });
        }
        let default = if options.cpu { "tiny" } else { "llama-8b" };
        let name = options.random.clone().unwrap_or_else(|| default.to_owned());
        let config = RandomConfig::named(&name).map_err(CheckError::Usage)?;
        let folder = own.folder("model")?;
        config.write(&folder).map_err(|source| CheckError::Write { path: folder.clone(), source })?;
        Ok(Self { name: name.clone(), folder, random: Some(name) })
    }
}

fn check(options: &GpuCheckOptions) -> Result<ExitCode, CheckError> {
    let mut sections: Vec<Section> = Vec::new();
    for name in &options.only {
        let section: Section = name.parse().map_err(CheckError::Usage)?;
        if !sections.contains(&section) {
            sections.push(section);
        }
    }
    if sections.is_empty() {
        sections.extend(Section::ALL);
    }
    let (own, running) = (OwnFolder::new()?, RunningGroup::default());
    running.end_on_signals(own.0.clone()).map_err(CheckError::Signals)?;
    let model = Model::of(options, &own)?;
    let start = Instant::now();
    let mut shares_left = sections.iter().map(|section| section.share()).sum::<u32>();
    let whole = Duration::from_secs(60 * u64::from(options.minutes));
    let (mut findings, mut has_device) = (Vec::new(), true);
    // A file that cannot be written is reported before anything is measured.
    if let Some(path) = &options.json {
        write_json(path, &model.name, start, &findings)?;
    }
    for section in sections {
        let name = section.name();
        if !has_device {
            findings.push(Finding::ended(name, CheckStatus::Skipped, "the device cannot be used"));
            continue;
        }
        if options.fast && section == Section::Invariance {
            findings.push(Finding::ended(name, CheckStatus::Skipped, "with --fast bits may vary"));
            continue;
        }
        // What a section leaves of its share is for those after it.
        let limit = whole.saturating_sub(start.elapsed()) * section.share() / shares_left.max(1);
        shares_left -= section.share();
        if limit < LEAST {
            findings.push(Finding::ended(name, CheckStatus::Skipped, "no time was left; --minutes gives more"));
            continue;
        }
        let _ = writeln!(io::stderr(), "gpu-check: {name} ({} s so far)", start.elapsed().as_secs());
        let (rows, ended) = run_section(options, (&model, &own), &running, name, limit)?;
        has_device = !matches!(ended, Ended::Exited(Some(code)) if code == i32::from(NO_DEVICE));
        let broken = broken(name, &rows, ended, limit);
        findings.extend(rows.into_iter().chain(broken));
        if let Some(path) = &options.json {
            write_json(path, &model.name, start, &findings)?;
        }
    }
    if let Some(path) = &options.json {
        write_json(path, &model.name, start, &findings)?;
    }
    let _ = write!(io::stdout(), "{}\n{}", table(&findings), goal_lines(&findings));
    if let Some(why) = why_no_device(&findings).filter(|_| !has_device) {
        let _ = writeln!(io::stdout(), "the device cannot be used: {why}");
    }
    let has_failed = findings.iter().any(|finding| finding.status == CheckStatus::Failed);
    Ok(match (has_device, has_failed) {
        (false, _) => ExitCode::from(NO_DEVICE),
        (true, true) => ExitCode::FAILURE,
        (true, false) => ExitCode::SUCCESS,
    })
}

/// Returns why the device cannot be used, of the first section that found it so.
fn why_no_device(findings: &[Finding]) -> Option<&str> {
    let is_broken = |finding: &&Finding| finding.status == CheckStatus::Failed && finding.name == "section";
    findings.iter().rfind(is_broken)?.value.as_str()
}

/// Returns the row of a section that broke without reporting it. A section that was cut off broke: a GPU that hangs, or is
/// slower than the section was made for, passes no check.
fn broken(section: &str, rows: &[Finding], ended: Ended, limit: Duration) -> Option<Finding> {
    let has_said = rows.iter().any(|row| row.status == CheckStatus::Failed && row.name == "section");
    let why = match ended {
        Ended::OutOfTime => format!("did not end within {} s; --minutes gives it more", limit.as_secs()),
        Ended::Exited(Some(0)) => return None,
        Ended::Exited(_) if has_said => return None,
        Ended::Exited(Some(code)) => format!("its process ended with exit code {code}"),
        Ended::Exited(None) => "its process ended with a signal".to_owned(),
    };
    Some(Finding::ended(section, CheckStatus::Failed, why))
}

fn write_json(path: &Path, model: &str, start: Instant, findings: &[Finding]) -> Result<(), CheckError> {
    let text = format!("{:#}\n", document(model, start.elapsed().as_secs_f64(), findings));
    fs::write(path, text).map_err(|source| CheckError::Write { path: path.to_owned(), source })
}

/// Runs one section; returns its rows. What it leaves in the folder for temporary files is removed.
fn run_section(
    options: &GpuCheckOptions,
    (model, own): (&Model, &OwnFolder),
    running: &RunningGroup,
    section: &str,
    limit: Duration,
) -> Result<(Vec<Finding>, Ended), CheckError> {
    let mut command = Command::new(std::env::current_exe().map_err(CheckError::Start)?);
    command.args(["gpu-check", "--section", section, "--threads", &options.threads.to_string()]);
    command.arg("--folder").arg(&model.folder);
    if let Some(random) = &model.random {
        command.args(["--random", random]);
    }
    if options.cpu {
        command.arg("--cpu");
    }
    if options.fast {
        command.arg("--fast");
    }
    command.envs(cuda_environment::to_add(!options.fast, |name| std::env::var_os(name).is_some()));
    let temporary = own.folder("tmp")?;
    command.env("TMPDIR", &temporary);
    let ran = running.run(command, limit).map_err(CheckError::Start);
    remove(&temporary);
    ran
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_that_is_cut_off_has_failed() {
        let rows = [Finding::measured("decode", "4 sequences", 12.0, "tokens/s")];
        let broken = |rows: &[Finding], ended| broken("decode", rows, ended, Duration::from_millis(93_400));
        let row = broken(&rows, Ended::OutOfTime).unwrap();
        assert_eq!((row.status, row.name.as_str()), (CheckStatus::Failed, "section"));
        assert_eq!(row.value, "did not end within 93 s; --minutes gives it more");
        assert_eq!(broken(&rows, Ended::Exited(Some(0))), None);
        let exits = |ended| broken(&rows, ended).unwrap().value;
        assert_eq!(exits(Ended::Exited(Some(101))), "its process ended with exit code 101");
        assert_eq!(exits(Ended::Exited(None)), "its process ended with a signal");
        let said = [Finding::ended("decode", CheckStatus::Failed, "cannot load")];
        assert_eq!(broken(&said, Ended::Exited(Some(1))), None, "it has said why itself");
    }
}
