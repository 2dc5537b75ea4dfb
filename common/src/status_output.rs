//! The two streams that a person reads: data on standard output, everything else on standard error.
//!
//! A reader that goes away (`| head`) must not end a run, as the macros of the standard library would. Where several jobs
//! run in one process the output of each goes into a log of its own: the log given to [`with_log`].

use crate::job_log::{JobLog, LogLine};
use crate::log_time::timed;
use crate::run_log;
use compass_diagnostic::{Colour, Diagnostics};
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Progress bars that are drawn at present.
static BARS: AtomicUsize = AtomicUsize::new(0);

/// Goes to the beginning of the line and clears it, on a terminal.
const CLEAR_LINE: &str = "\r\x1b[2K";

tokio::task_local! {
    static JOB_LOG: Arc<JobLog>;
}

/// Standard output takes no more.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output")]
pub struct OutputError(#[source] pub io::Error);

/// A line on standard error. Where it cannot be read, nothing is printed.
pub fn print_status(line: impl Display) {
    if let Ok(job_log) = JOB_LOG.try_with(Arc::clone) {
        job_log.write(LogLine::Status(line.to_string()));
        return;
    }
    let line = line.to_string();
    run_log::said(&line);
    to_stderr(format!("{line}\n").as_bytes());
}

/// A line on standard error about how far a stage is. A client that follows the log and draws a bar does not get it.
pub fn print_progress(line: impl Display) {
    match JOB_LOG.try_with(Arc::clone) {
        Ok(job_log) => job_log.write(LogLine::Progress(line.to_string())),
        Err(_) => print_status(line),
    }
}

/// A line on standard error, with the time before it where that is a log and not a terminal.
pub fn print_timed(line: impl Display) {
    if is_terminal() { print_status(line) } else { print_status(timed(&line.to_string())) }
}

/// Adds an event to the log of the job that runs here, if one has a log of its own.
pub(crate) fn to_job_log(event: &[u8]) {
    // Without a log of the job, standard error alone has it.
    let _ = JOB_LOG.try_with(|job_log| job_log.event(&String::from_utf8_lossy(event)));
}

/// Writes to standard error; a bar that is drawn there makes room, and is drawn again below.
pub(crate) fn to_stderr(text: &[u8]) {
    let mut bytes = over_bars(BARS.load(Ordering::Relaxed)).as_bytes().to_vec();
    bytes.extend_from_slice(text);
    // In one piece, so that no bar comes between.
    let _ = io::stderr().write_all(&bytes);
}

/// Returns the bytes that make room where this many bars are drawn.
fn over_bars(bars: usize) -> &'static str {
    if bars > 0 { CLEAR_LINE } else { "" }
}

/// A progress bar that has the last line of standard error for as long as this lives: a line that is printed meanwhile does not
/// begin behind it. Where standard error is not a terminal this does nothing.
#[derive(Debug)]
pub struct BarLine(bool);

impl BarLine {
    /// A bar begins to be drawn.
    pub fn begin() -> Self {
        let is_drawn = is_terminal();
        BARS.fetch_add(usize::from(is_drawn), Ordering::Relaxed);
        Self(is_drawn)
    }
}

impl Drop for BarLine {
    fn drop(&mut self) {
        BARS.fetch_sub(usize::from(self.0), Ordering::Relaxed);
    }
}

/// A line for the person at the terminal alone: no log gets it, and nothing is printed where it is not a terminal.
pub fn print_to_terminal(line: impl Display) {
    if is_terminal() {
        to_stderr(format!("{line}\n").as_bytes());
    }
}

/// Findings on standard error, in colour where a person looks at a terminal.
pub fn report(findings: impl Into<Diagnostics>) {
    let colour = if is_terminal() && !refuses_colour() { Colour::Always } else { Colour::Never };
    print_status(findings.into().render(colour));
}

/// Returns whether `NO_COLOR` is set.
pub(crate) fn refuses_colour() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Text on standard output.
///
/// # Errors
/// It cannot be written, except to a reader who has gone: that one wants no more.
pub fn print(text: impl Display) -> io::Result<()> {
    if let Ok(job_log) = JOB_LOG.try_with(Arc::clone) {
        job_log.write(LogLine::Output(text.to_string()));
        return Ok(());
    }
    let text = text.to_string();
    run_log::said(&text);
    let mut stdout = io::stdout().lock();
    match write!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Returns whether somebody looks at standard error as it is written.
pub fn is_terminal() -> bool {
    JOB_LOG.try_with(|_| ()).is_err() && io::stderr().is_terminal()
}

/// Directs all output of `future` to `job_log`.
pub async fn with_log<F: Future>(job_log: Arc<JobLog>, future: F) -> F::Output {
    JOB_LOG.scope(job_log, future).await
}

/// `future` for a task of its own, with the status output of the caller.
pub fn with_same_log<F>(future: F) -> impl Future<Output = F::Output> + Send
where
    F: Future + Send,
{
    let job_log = JOB_LOG.try_with(Arc::clone).ok();
    async move {
        match job_log {
            Some(job_log) => with_log(job_log, future).await,
            None => future.await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_event_goes_to_the_log_of_the_job_that_runs() {
        let job_log = Arc::new(JobLog::ended());
        to_job_log(b"of no job\n");
        with_log(job_log.clone(), async { to_job_log(b"2026-11-27T02:15:30Z  WARN no worker can load m\n") }).await;
        let warned = "2026-11-27T02:15:30Z  WARN no worker can load m";
        assert_eq!(job_log.read(0).0, [LogLine::Status(warned.into())]);
    }

    #[test]
    fn only_a_bar_that_is_drawn_makes_room() {
        assert_eq!((over_bars(0), over_bars(1), over_bars(2)), ("", CLEAR_LINE, CLEAR_LINE));
        // Tests have no terminal, or the bar is counted for as long as it lives.
        let before = BARS.load(Ordering::Relaxed);
        let line = BarLine::begin();
        assert_eq!(BARS.load(Ordering::Relaxed), before + usize::from(is_terminal()));
        drop(line);
        assert_eq!(BARS.load(Ordering::Relaxed), before);
    }
}
