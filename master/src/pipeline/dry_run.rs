//! `--dry-run`: the tasks and the commands, and nothing started.

use super::execution::{has_programs, stage_config};
use super::execution_plan::outline;
use super::folder::{FolderError, RunFolder, write_atomically};
use super::infer::{InferError, LaunchOptions, launcher, slots, tasks};
use crate::core::Recorded;
use crate::launch::Programs;
use crate::ledger::{Kind, Ledger, LedgerError};
use compass_common::config::Config;
use compass_common::ids::Digest;
use compass_common::partition::{ListedPiece, TaskList, TaskSpec};
use compass_common::plan::{Plan, tasks_path};
use compass_common::result::{Outcome, SampleResult};
use compass_proto::v1;
use prost::Message as _;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The tasks that a run would grant and the commands that it would launch, as text.
///
/// # Errors
/// The partitioner's settings make no sense, or there is no worker to launch.
pub fn dry_run(
    config: &Config,
    plan: &Plan,
    recorded: &Recorded,
    unsafe_local_exec: bool,
) -> Result<String, InferError> {
    let mut text = stage(config, plan, recorded, Programs::None, "")?;
    if has_programs(plan) {
        let config = stage_config(config);
        let programs = if unsafe_local_exec { Programs::Unsafe } else { Programs::Contained };
        text.push_str("then the programs that the answers are:\n");
        text.push_str(&stage(&config, &outline(plan), &Recorded::default(), programs, "execute ")?);
    }
    Ok(text)
}

fn stage(
    config: &Config,
    plan: &Plan,
    recorded: &Recorded,
    programs: Programs,
    kind: &str,
) -> Result<String, InferError> {
    let tasks = tasks(config, plan, recorded, slots(config, false))?;
    // What it is the list of does not show.
    let mut text = listing(&TaskList::new(plan, &Digest([0; 32]), &tasks), kind, |_| String::new());
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{} tasks, {} samples", tasks.len(), plan.expected() - recorded.len());
    match launcher(config, None, config.listen.to_string(), launching(programs))? {
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

/// A line for each task, with what `more` says of it.
fn listing(list: &TaskList, kind: &str, more: impl Fn(&[(u32, u32)]) -> String) -> String {
    let mut text = String::new();
    for task in &list.tasks {
        let pieces: Vec<String> = task.pieces.iter().map(ListedPiece::shown).collect();
        let samples: Vec<(u32, u32)> =
            task.pieces.iter().flat_map(|piece| piece.samples.iter().map(|index| (piece.unit.0, index))).collect();
        let (at, count, pieces) = (task.task, samples.len(), pieces.join(" "));
        let _ = writeln!(text, "{kind}task {at}: {count} samples: {pieces}{}", more(&samples));
    }
    text
}

/// Writes the list of a run's tasks into its folder, where `compass-worker --once` and [`recorded_tasks`] find it.
///
/// # Errors
/// Those of the disk.
pub(super) fn keep_tasks(
    folder: &RunFolder,
    plan: &Plan,
    digest: &Digest,
    tasks: &[TaskSpec],
) -> Result<(), FolderError> {
    let json = serde_json::to_vec(&TaskList::new(plan, digest, tasks)).unwrap_or_default();
    write_atomically(&tasks_path(folder.root()), &json)
}

/// The tasks of a run that has begun, as text: their numbers, what each holds, and what has no result or failed. `None` when
/// the run has no list of them.
///
/// # Errors
/// The ledger is damaged.
pub fn recorded_tasks(
    folder: &RunFolder,
    plan: &Plan,
    digest: Digest,
    lengths: &BTreeMap<String, u64>,
) -> Result<Option<String>, LedgerError> {
    let list = std::fs::read(tasks_path(folder.root())).ok();
    let list = list.and_then(|bytes| serde_json::from_slice::<TaskList>(&bytes).ok());
    let Some(list) = list.filter(|list| list.plan == digest.to_string()) else { return Ok(None) };
    let (mut done, mut failed) = (BTreeSet::new(), BTreeSet::new());
    for entry in Ledger::new(folder.ledger(), digest).load(lengths)?.entries {
        if entry.kind() != Kind::Sample {
            continue;
        }
        let result = v1::SampleResult::decode(entry.payload.as_slice()).ok();
        let Some(result) = result.and_then(|result| SampleResult::try_from(result).ok()) else { continue };
        // The first result of a sample is the one that counts.
        if done.insert((entry.unit, result.index)) && matches!(result.outcome, Outcome::Failed { .. }) {
            failed.insert((entry.unit, result.index));
        }
    }
    let mut text = listing(&list, "", |samples| {
        let open = samples.iter().filter(|sample| !done.contains(sample)).count();
        let failed = samples.iter().filter(|sample| failed.contains(sample)).count();
        match (open, failed) {
            (0, 0) => " (done)".into(),
            (open, 0) => format!(" ({open} without a result)"),
            (0, failed) => format!(" (done, {failed} of them failed)"),
            (open, failed) => format!(" ({open} without a result, {failed} failed)"),
        }
    });
    let (tasks, missing) = (list.tasks.len(), plan.expected().saturating_sub(done.len() as u64));
    let _ = writeln!(text, "{tasks} tasks of this run; to resume it would run {missing} samples, cut anew");
    let run = folder.shown();
    let _ = writeln!(text, "look at one of them with: compass-worker --once --plan {run} --task N");
    Ok(Some(text))
}

/// Whether workers can be launched at all.
///
/// # Errors
/// They cannot.
pub fn check_launcher(config: &Config) -> Result<(), InferError> {
    launcher(config, None, config.listen.to_string(), launching(Programs::None)).map(|_| ())
}

fn launching(programs: Programs) -> LaunchOptions {
    LaunchOptions { debug: false, stage: "", programs }
}
