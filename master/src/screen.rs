//! The two streams that a person reads: data on standard output, everything else on standard error.
//!
//! A reader who goes away (`| head`) must not end a run, as the macros of the standard library would.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

/// Standard output takes no more.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output")]
pub struct OutputError(#[source] pub io::Error);

/// A line on standard error. Where nobody can read it, nothing is said.
pub fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Text on standard output.
///
/// # Errors
/// It cannot be written, except to a reader who has gone: that one wants no more.
pub fn print(text: impl Display) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match write!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}
