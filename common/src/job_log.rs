//! Log of a job that has no terminal: the latest lines in memory for clients that follow it, all of them in a file.

use crate::log_time::timed_lines;
use crate::regular_file;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use tokio::sync::watch;

/// Lines that are kept for clients that begin to follow later.
const KEPT: usize = 2_000;

/// A piece of a job's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogLine {
    /// A line for standard error.
    Status(String),
    /// The same, about how far a stage is: a client that draws a bar does not need it.
    Progress(String),
    /// Text for standard output.
    Output(String),
}

/// Lines of a job: the latest in memory, all of them in a file.
#[derive(Debug)]
pub struct JobLog {
    held: Mutex<LogBuffer>,
    /// The number of the next line.
    written: watch::Sender<u64>,
}

#[derive(Debug)]
struct LogBuffer {
    lines: VecDeque<LogLine>,
    next: u64,
    file: Option<File>,
}

impl JobLog {
    /// A log whose lines also go to the end of the file at `path`, where that can be written.
    pub fn new(path: &Path) -> Self {
        let folder = path.parent().map(std::fs::create_dir_all);
        let file = folder.and_then(|made| made.ok()).and_then(|()| regular_file::append(path).ok());
        let held = LogBuffer { lines: VecDeque::new(), next: 0, file };
        Self { held: Mutex::new(held), written: watch::Sender::new(0) }
    }

    /// Closes the file at the end of the job: a server keeps the logs of a hundred jobs, and one descriptor each would
    /// exhaust it. The lines in memory stay for readers that follow; a later line goes there alone.
    pub fn close(&self) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).file = None;
    }

    /// The log of a job that has ended under an earlier server: it is read, and nothing is written to its file.
    pub fn ended() -> Self {
        let held = LogBuffer { lines: VecDeque::new(), next: 0, file: None };
        Self { held: Mutex::new(held), written: watch::Sender::new(0) }
    }

    /// Adds a line; in the file it begins with the time.
    pub fn write(&self, line: LogLine) {
        let text = match &line {
            LogLine::Status(text) | LogLine::Progress(text) | LogLine::Output(text) => timed_lines(text),
        };
        self.add(line, &text);
    }

    /// Adds an event of the program's own log, which has its time already.
    pub(crate) fn event(&self, text: &str) {
        self.add(LogLine::Status(text.trim_end().to_owned()), text);
    }

    fn add(&self, line: LogLine, text: &str) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &mut held.file {
            // It is for people; a full disk is reported by writers that depend on it.
            let _ = file.write_all(text.as_bytes());
        }
        held.lines.push_back(line);
        if held.lines.len() > KEPT {
            held.lines.pop_front();
        }
        held.next += 1;
        self.written.send_replace(held.next);
    }

    /// The lines from number `from` on, as far as they are kept, and the number after them.
    pub fn read(&self, from: u64) -> (Vec<LogLine>, u64) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let first = held.next - held.lines.len() as u64;
        let lines = held.lines.iter().skip(from.saturating_sub(first) as usize).cloned().collect();
        (lines, held.next)
    }

    /// Changes with every line.
    pub fn follow(&self) -> watch::Receiver<u64> {
        self.written.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_follower_gets_the_latest_lines_and_the_file_has_all_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/job.log");
        let job_log = JobLog::new(&path);
        (0..KEPT + 5).for_each(|at| job_log.write(LogLine::Status(at.to_string())));
        job_log.write(LogLine::Output("table\n".into()));
        let (lines, next) = job_log.read(0);
        assert_eq!((lines.len(), next), (KEPT, KEPT as u64 + 6));
        assert_eq!(lines[0], LogLine::Status("6".into()));
        assert_eq!(job_log.read(next - 1), (vec![LogLine::Output("table\n".into())], next));
        assert_eq!(job_log.read(next), (vec![], next));
        job_log.event("2026-11-27T02:15:30Z  WARN cannot load m\n");
        let warned = "2026-11-27T02:15:30Z  WARN cannot load m";
        assert_eq!(job_log.read(next).0, [LogLine::Status(warned.into())]);
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<(&str, &str)> = text.lines().map(|line| line.split_once("Z  ").unwrap()).collect();
        assert_eq!(lines.len(), KEPT + 7);
        assert_eq!((lines[0].1, lines[1].1, lines[KEPT + 5].1), ("0", "1", "table"));
        assert_eq!(text.lines().last(), Some(warned), "an event has its own time alone");
    }
}
