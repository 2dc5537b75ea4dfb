//! Runs `dlc` and takes what it prints. Its exit code says little; its words do.

use super::super::error::LaunchError;
use super::super::process::Tool;
use std::time::Duration;

/// The program.
pub(super) const DLC: Tool = Tool {
    program: "dlc",
    remedy: "install Alibaba's DLC command line, run `dlc config`, and put it on PATH",
    limit: Duration::from_secs(60),
};

/// Returns the output of `dlc`, on either stream, when it is told `words`.
///
/// # Errors
/// There is no such program, or it does not answer.
pub(super) async fn ask(words: &[String]) -> Result<String, LaunchError> {
    let said = DLC.run(words, "").await?;
    Ok(if said.stderr.is_empty() { said.stdout } else { format!("{}\n{}", said.stdout, said.stderr) })
}

/// Checks that there is a `dlc`.
///
/// # Errors
/// There is no `dlc`.
pub(super) fn look() -> Result<(), LaunchError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    match std::env::split_paths(&path).any(|folder| folder.join(DLC.program).is_file()) {
        true => Ok(()),
        false => Err(LaunchError::NoProgram { program: DLC.program.into(), remedy: DLC.remedy }),
    }
}
