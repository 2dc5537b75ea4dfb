//! Runs one command of a launcher to its end: bounded in time, out of the terminal's reach.

use super::error::LaunchError;
use super::launcher::Pending;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// Output of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl ToolOutput {
    /// Returns whether it ended with 0.
    pub fn is_ok(&self) -> bool {
        self.code == Some(0)
    }
}

/// Result of a launcher's command.
pub(super) type Said = Result<ToolOutput, LaunchError>;

/// Runs the commands of a launcher.
pub(super) trait Commands: Send + Sync {
    /// Runs `tool` as [`Tool::run`] does.
    fn run<'c>(&'c self, tool: Tool, arguments: &'c [String], input: &'c str) -> Pending<'c, Said>;
}

/// Processes on this host.
pub(super) struct Processes;

impl Commands for Processes {
    fn run<'c>(&'c self, tool: Tool, arguments: &'c [String], input: &'c str) -> Pending<'c, Said> {
        Box::pin(async move { tool.run(arguments, input).await })
    }
}

/// A program, and what to do where there is none.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    pub program: &'static str,
    pub remedy: &'static str,
    /// The longest that a command may take.
    pub limit: Duration,
}

impl Tool {
    /// Runs the program with `arguments`, and `input` on its standard input.
    ///
    /// # Errors
    /// There is no such program, or it gives no answer in time. How it ends is for the caller to judge.
    pub async fn run(&self, arguments: &[String], input: &str) -> Result<ToolOutput, LaunchError> {
        let mut command = Command::new(self.program);
        // A group of its own: a Ctrl-C at the terminal is the master's to handle, which still has jobs to end.
        command.args(arguments).process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let program = || self.program.to_owned();
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(LaunchError::NoProgram { program: program(), remedy: self.remedy });
            }
            Err(source) => return Err(LaunchError::Start { binary: self.program.into(), source }),
        };
        let stdin = child.stdin.take();
        let exchange = async move {
            let write = async move {
                if let Some(mut stdin) = stdin {
                    // Who does not read its input says so by how it ends.
                    let _ = stdin.write_all(input.as_bytes()).await;
                }
            };
            let ((), output) = tokio::join!(write, child.wait_with_output());
            output
        };
        let output = tokio::time::timeout(self.limit, exchange).await;
        let output = output.map_err(|_| LaunchError::Silent { program: program(), after: self.limit })?;
        let output = output.map_err(|source| LaunchError::Start { binary: self.program.into(), source })?;
        Ok(ToolOutput {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}
