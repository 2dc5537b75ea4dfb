//! Output of a run on the screen, kept in a file beside its results: a terminal is closed, and the question comes in the morning.
//!
//! Output from before the run had a folder is kept until it has one.

use crate::log_time::timed_lines;
use crate::regular_file;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Bytes that are kept while there is no file.
const MOST_KEPT: usize = 256 * 1024;

static LOG: Mutex<RunLog> = Mutex::new(RunLog { file: None, early: Vec::new() });

#[derive(Debug)]
struct RunLog {
    file: Option<File>,
    early: Vec<u8>,
}

/// From now on all output of this process is also appended to the file at `path`, with the earlier output first.
///
/// # Errors
/// It cannot be written.
pub fn keep_in(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    LOG.lock().unwrap_or_else(PoisonError::into_inner).open(regular_file::append(path)?)
}

/// Writes text of a program for people: each of its lines begins with the time.
pub(crate) fn said(text: &str) {
    let lines = timed_lines(text);
    LOG.lock().unwrap_or_else(PoisonError::into_inner).add(&plain(lines.as_bytes()));
}

/// An event, which has its time; returns it without the colours of a terminal.
pub(crate) fn event(bytes: &[u8]) -> Vec<u8> {
    let text = plain(bytes);
    LOG.lock().unwrap_or_else(PoisonError::into_inner).add(&text);
    text
}

impl RunLog {
    fn open(&mut self, mut file: File) -> io::Result<()> {
        file.write_all(&std::mem::take(&mut self.early))?;
        self.file = Some(file);
        Ok(())
    }

    fn add(&mut self, bytes: &[u8]) {
        match &mut self.file {
            // It is for people; a full disk is reported by writers that depend on it.
            Some(file) => drop(file.write_all(bytes)),
            None if self.early.len() + bytes.len() <= MOST_KEPT => self.early.extend_from_slice(bytes),
            None => {}
        }
    }
}

/// Without the colours of a terminal.
fn plain(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (0x1b, [b'[', codes @ ..]) => {
                let end = codes.iter().position(|byte| byte.is_ascii_alphabetic()).map_or(codes.len(), |at| at + 1);
                rest = &codes[end..];
            }
            (byte, _) => out.push(*byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_before_comes_first_and_without_colours() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.log");
        let mut log = RunLog { file: None, early: Vec::new() };
        log.add(&plain(b"\x1b[1;31merror\x1b[0m: early\n"));
        log.open(File::create(&path).unwrap()).unwrap();
        log.add(b"late\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "error: early\nlate\n");
        assert_eq!(plain(b"cut \x1b[3"), b"cut ");
    }
}
