//! One interpreter from its start to its end: bounded in time and in what it writes, with the end of its output.

use crate::limits::Limits;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io::{self, PipeReader, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Between two looks at the child.
const PERIOD: Duration = Duration::from_millis(20);
/// Looks at the child between two looks at what it wrote.
const LOOKS: u32 = 50;
/// Bytes of its output that are kept, and lines that are shown.
const TAIL_BYTES: usize = 16 << 10;
const TAIL_LINES: usize = 6;

/// End of a child, and its last output.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) how: How,
    /// The last lines of its output.
    pub(crate) tail: String,
}

#[derive(Debug)]
pub(crate) enum How {
    Itself(ExitStatus),
    /// Stopped: it reported nothing for too long.
    TimedOut,
    /// Stopped: it wrote too much.
    Output,
}

/// Runs `words` with exactly `variables`, in `directory`. Whenever the file of events in `folder` grows, the idle timeout begins
/// again.
///
/// # Errors
/// It cannot be started.
pub(crate) fn run(
    words: &[OsString],
    variables: &[(OsString, OsString)],
    directory: &Path,
    folder: &Path,
    limits: &Limits,
) -> io::Result<Ended> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
    command.current_dir(directory).stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    // Its own group: whatever it starts is ended with it.
    command.process_group(0);
    let mut child = command.spawn()?;
    // Holds the writing ends until here.
    drop(command);
    let tail = std::thread::spawn(move || last_bytes(reader));
    let how = wait(&mut child, folder, limits);
    // Also after its own end: what it left behind holds the pipe.
    end_group(&child);
    let how = match how? {
        Some(how) => {
            child.wait()?;
            how
        }
        None => How::Itself(child.wait()?),
    };
    let bytes = tail.join().unwrap_or_default();
    Ok(Ended { how, tail: last_lines(&bytes) })
}

/// `None` when it ended by itself.
fn wait(child: &mut Child, folder: &Path, limits: &Limits) -> io::Result<Option<How>> {
    let mut since = Instant::now();
    let mut told = 0;
    let mut look = 0;
    while child.try_wait()?.is_none() {
        let grown = std::fs::metadata(folder.join(crate::script::EVENTS)).map_or(0, |metadata| metadata.len());
        if grown != told {
            (told, since) = (grown, Instant::now());
        }
        if since.elapsed() >= limits.idle_timeout {
            return Ok(Some(How::TimedOut));
        }
        if look % LOOKS == 0 && bytes_below(folder) > limits.most_bytes {
            return Ok(Some(How::Output));
        }
        look += 1;
        std::thread::sleep(PERIOD);
    }
    Ok(None)
}

fn end_group(child: &Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        // It may be gone.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Bytes of the files below a folder; what links lead to is not its own.
fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let of_entry = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => bytes_below(&entry.path()),
        Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |metadata| metadata.len()),
        _ => 0,
    };
    entries.flatten().map(of_entry).sum()
}

fn last_bytes(mut reader: PipeReader) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 8192];
    while let Ok(read @ 1..) = reader.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..read]);
        if kept.len() > 2 * TAIL_BYTES {
            kept.drain(..kept.len() - TAIL_BYTES);
        }
    }
    kept
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let shown = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    shown.iter().map(|line| line.chars().take(300).collect::<String>()).collect::<Vec<_>>().join(" | ")
}

/// Describes a status: `ended with exit code 1`, `crashed (signal 11)`.
pub(crate) fn said(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => "ended without an answer".to_owned(),
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal @ (4 | 6 | 7 | 8 | 11))) => format!("crashed (signal {signal})"),
        (None, Some(9)) => "was killed (signal 9): probably by the kernel OOM killer".to_owned(),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
