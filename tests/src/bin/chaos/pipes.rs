//! Pipes without a writer in the place of files: a program that opens one hangs.

use compass_tests::runs_in;
use std::path::Path;
use std::process::Command;

/// Lays them beside the runs of a folder, as what would be the latest run, and into each run's own folders; whether any was new.
pub(crate) fn lay(work_dir: &Path) -> bool {
    let runs = runs_in(work_dir);
    let within = ["plan/pipe", "ledger/pipe", "logs/pipe.log", "configs/pipe.toml"];
    let of_runs = runs.iter().flat_map(|run| within.map(|name| run.join(name)));
    let pipes = of_runs.chain([work_dir.join("99991231_235959")]);
    let laid = pipes.filter(|pipe| {
        !pipe.exists() && Command::new("mkfifo").arg(pipe).output().is_ok_and(|output| output.status.success())
    });
    laid.count() > 0
}
