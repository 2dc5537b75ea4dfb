//! Runs `dlc` and takes what it prints. Its exit code says little; its words do.

use super::super::error::LaunchError;
use std::io;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// The program's name.
pub(super) const DLC: &str = "dlc";
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What `dlc` prints, on either stream, when it is told `words`.
///
/// # Errors
/// There is no such program, or it does not answer.
pub(super) async fn ask(words: &[String]) -> Result<String, LaunchError> {
    let mut command = Command::new(DLC);
    command.args(words).stdin(Stdio::null()).kill_on_drop(true);
    // Its own process group: a Ctrl-C at the terminal is the master's to handle, which has jobs to stop with it.
    command.process_group(0);
    let program = || DLC.to_owned();
    let output = match tokio::time::timeout(PATIENCE, command.output()).await {
        Err(_) => return Err(LaunchError::Silent { program: program(), after: PATIENCE }),
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => {
            let remedy = "install Alibaba's DLC command line, run `dlc config`, and put it on PATH";
            return Err(LaunchError::NoProgram { program: program(), remedy });
        }
        Ok(Err(source)) => return Err(LaunchError::Start { binary: DLC.into(), source }),
        Ok(Ok(output)) => output,
    };
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.stderr.is_empty() {
        text.push('\n');
        text.push_str(&String::from_utf8_lossy(&output.stderr));
    }
    Ok(text)
}
