//! `--dry-run`: the tasks and the commands, and nothing started.

use super::infer::{InferError, launcher, slots, tasks};
use crate::core::Recorded;
use compass_common::config::Config;
use compass_common::plan::Plan;
use std::fmt::Write as _;

/// The tasks that a run would grant and the commands that it would launch, as text.
///
/// # Errors
/// The partitioner's settings make no sense, or there is no worker to launch.
pub fn dry_run(config: &Config, plan: &Plan, recorded: &Recorded) -> Result<String, InferError> {
    let tasks = tasks(config, plan, recorded, slots(config, false))?;
    let mut text = String::new();
    for (at, task) in tasks.iter().enumerate() {
        let pieces = task.pieces.iter().filter_map(|(unit, samples)| {
            let unit = plan.unit(*unit)?;
            let ranges = samples.pairs().iter().map(|(first, end)| format!("{first}..{end}"));
            Some(format!("{}/{}[{}]", unit.model.abbr, unit.dataset.abbr, ranges.collect::<Vec<_>>().join(",")))
        });
        let pieces: Vec<String> = pieces.collect();
        let samples: u32 = task.pieces.iter().map(|(_, samples)| samples.len()).sum();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "task {at}: {samples} samples: {}", pieces.join(" "));
    }
    let _ = writeln!(text, "{} tasks, {} samples", tasks.len(), plan.expected() - recorded.len());
    match launcher(config, None, config.listen.to_string(), false)? {
        Some(launcher) => {
            let _ = writeln!(text, "would launch: {}", launcher.command_line().join(" "));
        }
        None => {
            let _ =
                writeln!(text, "would launch nothing; start workers with: compass-worker --master {}", config.listen);
        }
    }
    Ok(text)
}

/// Whether workers can be launched at all.
///
/// # Errors
/// They cannot.
pub fn check_launcher(config: &Config) -> Result<(), InferError> {
    launcher(config, None, config.listen.to_string(), false).map(|_| ())
}
