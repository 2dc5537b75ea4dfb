//! The logs of a run: which there are, the end of one, and which of them a worker wrote into. Nothing else of the folder is read.
//!
//! Invariant: a path is made from names of the folder's own listing alone. A name that is asked for is looked up in it.

use compass_run_folder::RunFolder;
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Bytes at the end of a log that are shown.
const TAIL: u64 = 256 * 1024;
/// Logs that are listed at most: an array job of Slurm writes one for each worker.
const LOGS: usize = 10_000;
const ENDING: &str = ".log";
/// The folder of the workers that compute results.
const INFER: &str = "infer";

/// A log of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunLog {
    /// Its name below `logs/`, for example `master.log`, or with the stage whose workers write it, `infer/local.log`.
    pub name: String,
    pub bytes: u64,
}

/// The end of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTail {
    pub text: String,
    /// Bytes before it that are not shown.
    pub left_out: u64,
}

/// Returns the logs of a run by their names; empty without a folder for them.
pub fn logs(folder: &RunFolder) -> Vec<RunLog> {
    listed(folder).into_iter().map(|(log, _)| log).collect()
}

/// The end of the log of this name, from the beginning of a line on; `None` where the listing does not have the name.
///
/// # Errors
/// The file cannot be read.
pub fn tail(folder: &RunFolder, name: &str) -> io::Result<Option<LogTail>> {
    let Some((_, path)) = listed(folder).into_iter().find(|(log, _)| log.name == name) else { return Ok(None) };
    let mut file = open(&path)?;
    // It may have grown since, or become less.
    let from = file.metadata()?.len().saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let cut = if from == 0 { 0 } else { bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1) };
    let text = String::from_utf8_lossy(&bytes[cut..]).into_owned();
    Ok(Some(LogTail { text, left_out: from + cut as u64 }))
}

/// The log into which the worker of this name wrote, where it is listed: launchers name workers after their pool and job, and
/// logs too. Workers of one host share one.
pub(crate) fn log_of<'l>(worker: &str, logs: &'l [RunLog]) -> Option<&'l str> {
    let names = candidates(worker).into_iter().map(|stem| format!("{INFER}/{stem}{ENDING}"));
    names.into_iter().find_map(|name| logs.iter().find(|log| log.name == name)).map(|log| log.name.as_str())
}

/// Returns possible names of the log of a worker, without its ending: `POOL-JOB` under Slurm (`rN` for a job that was put back),
/// `POOL-N` of the command runner's `POOL-PID-N`, `POOL` of workers on this host, `POOL-PID` or `POOL-PID-N`.
fn candidates(worker: &str) -> Vec<String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut stems = vec![worker.to_owned()];
    if let Some((job, restarts)) = worker.rsplit_once('r')
        && is_number(restarts)
    {
        stems.push(job.to_owned());
    }
    let Some((head, last)) = worker.rsplit_once('-').filter(|(_, last)| is_number(last)) else { return stems };
    if let Some((pool, pid)) = head.rsplit_once('-')
        && is_number(pid)
    {
        stems.extend([format!("{pool}-{last}"), pool.to_owned()]);
    }
    stems.push(head.to_owned());
    stems
}

/// Files below `logs/` and the stages' folders in it, without links.
fn listed(folder: &RunFolder) -> Vec<(RunLog, PathBuf)> {
    let mut found = Vec::new();
    add(&folder.logs(), "", &mut found);
    for entry in std::fs::read_dir(folder.logs()).into_iter().flatten().flatten() {
        // The type of the entry itself: a link is neither.
        if let (true, Ok(stage)) = (entry.file_type().is_ok_and(|kind| kind.is_dir()), entry.file_name().into_string())
        {
            add(&entry.path(), &format!("{stage}/"), &mut found);
        }
    }
    found.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    found
}

fn add(folder: &Path, before: &str, found: &mut Vec<(RunLog, PathBuf)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        // Of the entry itself, as above.
        let Ok(facts) = entry.metadata() else { continue };
        if facts.is_file() && name.ends_with(ENDING) && found.len() < LOGS {
            found.push((RunLog { name: format!("{before}{name}"), bytes: facts.len() }, entry.path()));
        }
    }
}

/// Opens a file, and no link that took its place since it was listed.
fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> (tempfile::TempDir, RunFolder) {
        let work_dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(work_dir.path(), "run").unwrap();
        std::fs::create_dir_all(folder.logs().join("infer")).unwrap();
        (work_dir, folder)
    }

    #[test]
    fn only_names_of_the_listing_are_read() {
        let (work_dir, folder) = run();
        std::fs::write(work_dir.path().join("secret.log"), "secret").unwrap();
        std::fs::write(folder.logs().join("master.log"), "begun\n").unwrap();
        std::fs::write(folder.logs().join("run.json"), "{}").unwrap();
        std::fs::write(folder.logs().join("infer/local.log"), "loaded\n").unwrap();
        std::os::unix::fs::symlink(work_dir.path().join("secret.log"), folder.logs().join("link.log")).unwrap();
        std::os::unix::fs::symlink(work_dir.path(), folder.logs().join("stage")).unwrap();
        let names: Vec<String> = logs(&folder).into_iter().map(|log| log.name).collect();
        assert_eq!(names, ["infer/local.log", "master.log"]);
        let text = |name: &str| tail(&folder, name).unwrap().map(|tail| tail.text);
        assert_eq!(text("infer/local.log").as_deref(), Some("loaded\n"));
        for other in
            ["link.log", "stage/secret.log", "../secret.log", "infer/../master.log", "/etc/passwd", "run.json", ""]
        {
            assert_eq!(text(other), None, "{other}");
        }
        assert!(open(&folder.logs().join("link.log")).is_err(), "a link that came after the listing");
    }

    #[test]
    fn of_a_long_log_whole_lines_at_its_end_are_shown() {
        let (_work_dir, folder) = run();
        let lines: String = (0..40_000).map(|at| format!("line {at}\n")).collect();
        std::fs::write(folder.logs().join("master.log"), &lines).unwrap();
        let tail = tail(&folder, "master.log").unwrap().unwrap();
        assert!(
            tail.text.len() as u64 <= TAIL && tail.text.starts_with("line ") && tail.text.ends_with("line 39999\n")
        );
        assert_eq!(tail.left_out + tail.text.len() as u64, lines.len() as u64);
    }

    #[test]
    fn a_worker_is_traced_to_its_log() {
        let log = |name: &str| RunLog { name: name.into(), bytes: 1 };
        let logs = ["infer/gpu-3.log", "infer/local.log", "infer/slurm-17_2.log", "master.log"].map(log);
        for (worker, expected) in [
            ("local-4711", Some("infer/local.log")),
            ("local-4711-3", Some("infer/local.log")),
            ("gpu-4711-3", Some("infer/gpu-3.log")),
            ("slurm-17_2", Some("infer/slurm-17_2.log")),
            ("slurm-17_2r1", Some("infer/slurm-17_2.log")),
            ("gpu-4711-4", None),
            ("host-a", None),
            ("../master", None),
            ("master", None),
        ] {
            assert_eq!(log_of(worker, &logs), expected, "{worker}");
        }
    }
}
