//! The places that events of the log go to: standard error, the file of the run, and the log of the job that runs here.

use crate::run_log;
use crate::status_output;
use std::io::{self, Write};
use tracing_subscriber::fmt::MakeWriter;

/// Standard error, and the run's file; warnings of a server's job also go into the job's own log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Screen;

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = run_log::event(bytes);
        status_output::to_job_log(&text);
        // Where standard error is closed the file is still there.
        status_output::to_stderr(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl MakeWriter<'_> for Screen {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        *self
    }
}
