//! Splits a file into lines: at `\n` only, since Python's `splitlines` and others also split at U+2028 and U+0085, which
//! occur inside texts. A `\r` before the `\n`, a byte order mark at the start and blank lines at the end are dropped.

use crate::error::DataError;
use std::path::Path;

/// The whole file without its byte order mark.
pub(crate) fn load(path: &Path) -> Result<Vec<u8>, Vec<DataError>> {
    let mut bytes = std::fs::read(path).map_err(|source| vec![DataError::Read { path: path.into(), source }])?;
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    Ok(bytes)
}

/// A line's number from 1 and its text, or the column and the message of what is wrong with it.
pub(crate) type Line<'b> = (usize, Result<&'b str, (usize, String)>);

/// The lines up to the last that is not blank. Blank lines among them and invalid UTF-8 are faults.
pub(crate) fn split(bytes: &[u8]) -> Vec<Line<'_>> {
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    while lines.last().is_some_and(|line| line.trim_ascii().is_empty()) {
        lines.pop();
    }
    lines.into_iter().enumerate().map(|(at, line)| (at + 1, check(line))).collect()
}

fn check(line: &[u8]) -> Result<&str, (usize, String)> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return Err((1, "a blank line between rows: remove it, or write the row that is missing".into()));
    }
    std::str::from_utf8(line).map_err(|error| {
        let column = String::from_utf8_lossy(&line[..error.valid_up_to()]).chars().count() + 1;
        (column, format!("byte 0x{:02x} is not UTF-8", line[error.valid_up_to()]))
    })
}
