//! The list of a run's tasks in its folder: written when a master begins, shown by `--dry-run -r`, read by
//! `compass-worker --once`.

use compass_common::words::counted;
use compass_common::{encode, regular_file};
use compass_ledger::{Kind, Ledger, LedgerError};
use compass_plan::partition::{ListedPiece, TaskList, TaskSpec};
use compass_plan::{Plan, tasks_path};
use compass_run_folder::{FolderError, PlanError, RunFolder, read_duplicates, write_atomically};
use compass_scheduler::Duplicates;
use compass_types::ids::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Reason for which the tasks of a run that has begun cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum TaskListError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// A line for each task, with what `more` says of it.
pub(super) fn listing(list: &TaskList, kind: &str, more: impl Fn(&[(u32, u32)]) -> String) -> String {
    let mut text = String::new();
    for task in &list.tasks {
        let pieces: Vec<String> = task.pieces.iter().map(ListedPiece::shown).collect();
        let samples: Vec<(u32, u32)> =
            task.pieces.iter().flat_map(|piece| piece.samples.iter().map(|index| (piece.unit.0, index))).collect();
        let (at, count, pieces) = (task.task, counted(samples.len() as u64, "sample"), pieces.join(" "));
        let _ = writeln!(text, "{kind}task {at}: {count}: {pieces}{}", more(&samples));
    }
    text
}

/// Writes the list of a run's tasks into its folder, where `compass-worker --once` and [`recorded_tasks`] find it; returns how many
/// there are. Where nothing is left to do, the list stays that of the last master that had some.
///
/// # Errors
/// Those of the disk.
pub(super) fn keep_tasks(
    folder: &RunFolder,
    plan: &Plan,
    digest: &Digest,
    tasks: &[TaskSpec],
) -> Result<u32, FolderError> {
    if tasks.is_empty()
        && let Some(list) = task_list(folder, digest)
    {
        return Ok(list.tasks.len() as u32);
    }
    let json = encode::json("the list of tasks", &TaskList::new(plan, digest, tasks))?;
    write_atomically(&tasks_path(folder.root()), &json)?;
    Ok(tasks.len() as u32)
}

/// The list in a run's folder; `None` where there is none of this plan.
fn task_list(folder: &RunFolder, digest: &Digest) -> Option<TaskList> {
    let list: TaskList = {
        let bytes = regular_file::read(&tasks_path(folder.root()), regular_file::LARGE).ok()?;
        serde_json::from_slice(&bytes).ok()?
    };
    (list.plan == digest.to_string()).then_some(list)
}

/// The tasks of a run that has begun, as text: their numbers, what each holds, and what has no result or failed. `None` when
/// the run has no list of them.
///
/// # Errors
/// The ledger or the plan is damaged.
pub fn recorded_tasks(
    folder: &RunFolder,
    plan: &Plan,
    digest: Digest,
    lengths: &BTreeMap<String, u64>,
) -> Result<Option<String>, TaskListError> {
    let Some(list) = task_list(folder, &digest) else { return Ok(None) };
    let (mut done, mut failed, mut again) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    Ledger::new(folder.ledger(), digest).read(lengths, &mut |entry| {
        let Some(mark) = entry.mark().filter(|_| entry.kind() == Kind::Sample) else { return };
        let sample = (entry.unit, mark.index);
        // The first result of a sample is the one that counts.
        if done.insert(sample) && mark.failed.is_some() {
            failed.insert(sample);
            if mark.engine_failed {
                again.insert(sample);
            }
        }
    })?;
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
    let groups = read_duplicates(folder, plan)?;
    let duplicates = Duplicates::new(groups.of_units(plan), |(unit, index)| done.contains(&(unit.0, index)));
    let missing = plan.expected().saturating_sub(done.len() as u64 + duplicates.len()) + again.len() as u64;
    let (tasks, missing) = (counted(list.tasks.len() as u64, "task"), counted(missing, "sample"));
    let _ = writeln!(text, "{tasks} of this run; to resume it would run {missing}, cut again");
    let run = folder.shown();
    let _ = writeln!(text, "look at one of them with: compass-worker --once --plan {run} --task N");
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plans::damaged_run;
    use compass_types::ids::UnitId;
    use compass_types::intervals::IntervalSet;

    #[test]
    fn damaged_results_leave_their_samples_without_a_result_unless_they_name_them() {
        let work_dir = tempfile::tempdir().unwrap();
        let (folder, plan, digest) = damaged_run(work_dir.path());
        let tasks = [0, 1].map(|at| TaskSpec { pieces: vec![(UnitId(0), IntervalSet::range(at, at + 1))] });
        keep_tasks(&folder, &plan, &digest, &tasks).unwrap();
        let text = recorded_tasks(&folder, &plan, digest, &BTreeMap::new()).unwrap().unwrap();
        assert!(text.contains("2 tasks of this run; to resume it would run 0 samples"), "{text}");
    }
}
