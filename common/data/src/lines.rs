//! Splits a file into lines: at `\n` only, since Python's `splitlines` and others also split at U+2028 and U+0085, which
//! occur inside texts. A `\r` before the `\n` is dropped.

use crate::bytes;
use crate::error::DataError;
use compass_settings::ReadLimits;
use std::collections::VecDeque;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

/// A line without its end.
#[derive(Debug)]
pub(crate) struct TextLine {
    /// From 1.
    pub(crate) number: usize,
    pub(crate) text: String,
    /// Set if a newline follows; the last line of a file that was cut off has none.
    pub(crate) ended: bool,
}

/// All lines of a file, blank ones too. Invalid UTF-8 is a fault in its place.
pub(crate) struct Lines {
    path: PathBuf,
    reader: Box<dyn BufRead>,
    limits: ReadLimits,
    number: usize,
    done: bool,
}

impl Lines {
    pub(crate) fn open(path: &Path, limits: ReadLimits) -> Result<Self, DataError> {
        Ok(Self { path: path.into(), reader: bytes::open(path)?, limits, number: 0, done: false })
    }
}

impl Iterator for Lines {
    type Item = Result<TextLine, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let mut bytes: Vec<u8> = Vec::new();
        let most = self.limits.line_bytes();
        // One byte more shows that the line goes on, a newline does not count.
        match self.reader.by_ref().take(most + 1).read_until(b'\n', &mut bytes) {
            Ok(0) => return None,
            Ok(_) if bytes.len() as u64 > most && !bytes.ends_with(b"\n") => {
                self.done = true;
                let (path, line) = (self.path.clone(), self.number + 1);
                return Some(Err(DataError::Row {
                    path,
                    line,
                    column: 1,
                    message: crate::bytes::line_too_long(self.limits),
                }));
            }
            Ok(_) => self.number += 1,
            Err(error) => {
                self.done = true;
                return Some(Err(crate::bytes::read_fault(&self.path, error)));
            }
        }
        let ended = bytes.pop_if(|last| *last == b'\n').is_some();
        if ended {
            bytes.pop_if(|last| *last == b'\r');
        }
        let number = self.number;
        Some(String::from_utf8(bytes).map(|text| TextLine { number, text, ended }).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let column = String::from_utf8_lossy(&error.as_bytes()[..valid]).chars().count() + 1;
            let message = format!("byte 0x{:02x} is not UTF-8", error.as_bytes()[valid]);
            DataError::Row { path: self.path.clone(), line: number, column, message }
        }))
    }
}

/// The lines up to the last that is not blank; a blank one among them is a fault, since a row may be missing there.
pub(crate) struct SolidLines {
    lines: Lines,
    /// Blank lines that are faults if anything follows them.
    blank: Vec<usize>,
    ready: VecDeque<Result<TextLine, DataError>>,
}

impl SolidLines {
    pub(crate) fn open(path: &Path, limits: ReadLimits) -> Result<Self, DataError> {
        Ok(Self { lines: Lines::open(path, limits)?, blank: Vec::new(), ready: VecDeque::new() })
    }
}

impl Iterator for SolidLines {
    type Item = Result<TextLine, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() {
            match self.lines.next()? {
                Ok(line) if line.text.trim().is_empty() => self.blank.push(line.number),
                solid => {
                    let message = "a blank line between rows: remove it, or write the row that is missing";
                    for line in self.blank.drain(..) {
                        let path = self.lines.path.clone();
                        self.ready.push_back(Err(DataError::Row { path, line, column: 1, message: message.into() }));
                    }
                    self.ready.push_back(solid);
                }
            }
        }
        self.ready.pop_front()
    }
}
