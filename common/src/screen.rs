//! The two streams that a person reads: data on standard output, everything else on standard error.
//!
//! A reader who goes away (`| head`) must not end a run, as the macros of the standard library would. Where several jobs
//! run in one process each speaks into a journal of its own: whatever runs [`within`] it.

use crate::journal::{Journal, Line};
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::Arc;

tokio::task_local! {
    static JOURNAL: Arc<Journal>;
}

/// Standard output takes no more.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output")]
pub struct OutputError(#[source] pub io::Error);

/// A line on standard error. Where nobody can read it, nothing is said.
pub fn say(line: impl Display) {
    if let Ok(journal) = JOURNAL.try_with(Arc::clone) {
        journal.write(Line::Said(line.to_string()));
        return;
    }
    let _ = writeln!(io::stderr(), "{line}");
}

/// Text on standard output.
///
/// # Errors
/// It cannot be written, except to a reader who has gone: that one wants no more.
pub fn print(text: impl Display) -> io::Result<()> {
    if let Ok(journal) = JOURNAL.try_with(Arc::clone) {
        journal.write(Line::Printed(text.to_string()));
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    match write!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Whether somebody looks at standard error as it is written.
pub fn is_terminal() -> bool {
    JOURNAL.try_with(|_| ()).is_err() && io::stderr().is_terminal()
}

/// Lets everything that `future` says go into `journal`.
pub async fn within<F: Future>(journal: Arc<Journal>, future: F) -> F::Output {
    JOURNAL.scope(journal, future).await
}

/// `future` for a task of its own, speaking where whoever calls this does.
pub fn alike<F>(future: F) -> impl Future<Output = F::Output> + Send
where
    F: Future + Send,
{
    let journal = JOURNAL.try_with(Arc::clone).ok();
    async move {
        match journal {
            Some(journal) => within(journal, future).await,
            None => future.await,
        }
    }
}
