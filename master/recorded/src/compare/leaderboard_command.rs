//! Runs `compass-master leaderboard`.

use super::files::write_file;
use super::reading::{Clusters, find_run, open};
use crate::arguments::{LeaderboardArguments, STEP};
use compass_cli::exit;
use compass_cli::terminal::terminal_width;
use compass_common::status_output::{OutputError, print, report};
use compass_compare::leaderboard::{Board, board, board_csv, board_html, board_text, events};
use compass_compare::{ClusterBy, RunData};
use compass_diagnostic::Diagnostic;
use compass_jobs::Failure;
use compass_run_folder::{FolderError, RunFolder, write_atomically};
use regex::Regex;
use std::path::Path;

/// Name by which TensorBoard recognises a file of events.
const EVENTS: &str = "events.out.tfevents.0.compass";

/// Shows the board.
///
/// # Errors
/// A run that was named cannot be read, there are no runs, or a file cannot be written.
pub fn run(arguments: &LeaderboardArguments) -> Result<u8, Failure> {
    let step = step_pattern(&arguments.step)?;
    if let Some(folder) = &arguments.tensorboard {
        check_folder(folder)?;
    }
    let mut board = board_of(&runs(arguments)?, &step);
    let note = no_steps(&board, &arguments.step);
    board.notes.extend(note);
    if let Some(path) = &arguments.csv {
        write_file(path, &board_csv(&board))?;
    }
    if let Some(path) = &arguments.html {
        write_file(path, &board_html(&board))?;
    }
    if let Some(folder) = &arguments.tensorboard {
        write_events(folder, &board)?;
    }
    print(board_text(&board, terminal_width()))
        .map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))?;
    Ok(exit::SCORED)
}

/// The regular expression whose first group is the step.
///
/// # Errors
/// It is malformed, or has no group.
pub fn step_pattern(step: &str) -> Result<Regex, Failure> {
    let pattern = Regex::new(step).map_err(|error| {
        let wrong = Diagnostic::error(format!("--step: {error}"));
        Failure::bad_input(wrong.with_help("write a regular expression with one group, as in 'step_(\\d+)'"))
    })?;
    if pattern.captures_len() < 2 {
        let lacks = Diagnostic::error(format!("--step: `{pattern}` has no group"));
        return Err(Failure::bad_input(lacks.with_help("put the digits of the step into parentheses: 'step_(\\d+)'")));
    }
    Ok(pattern)
}

/// The board of runs.
pub fn board_of(runs: &[RunData], step: &Regex) -> Board {
    // The last one counts: a path may name a step above that of the checkpoint.
    let step = |text: &str| step.captures_iter(text).last()?.get(1)?.as_str().parse().ok();
    board(runs, &step)
}

/// Reads a run for a board. Waits for the disk.
///
/// # Errors
/// The run is damaged, or has no result.
pub fn read_run(folder: &RunFolder) -> Result<RunData, Failure> {
    Ok(open(folder, Clusters { by: &ClusterBy::Passage, datasets: None }, |_| true)?.data)
}

/// Returns a note if a pattern of the user's finds the step of some models alone, or of none.
fn no_steps(board: &Board, step: &str) -> Option<String> {
    let (all, found) = (board.entries.len(), board.entries.iter().filter(|entry| entry.step.is_some()).count());
    if step == STEP || found == all {
        return None;
    }
    let found = if found == 0 { "none".to_owned() } else { format!("{found} of {all} models") };
    Some(format!(
        "there are no curves: --step '{step}' finds the step of {found}, in the model's name, its path or its run's name"
    ))
}

/// Checks that a folder exists or can be made, before anything is computed for it.
///
/// # Errors
/// The folder, or one above it, is a file.
fn check_folder(folder: &Path) -> Result<(), Failure> {
    let there = folder.ancestors().find(|path| path.exists());
    let Some(file) = there.filter(|path| !path.is_dir()) else { return Ok(()) };
    let taken = Diagnostic::error(format!("cannot write to {}: {} is a file", folder.display(), file.display()));
    Err(Failure::bad_input(taken.with_help("--tensorboard names a folder, which is made where it is missing")))
}

fn write_events(folder: &Path, board: &Board) -> Result<(), Failure> {
    if !board.has_steps() {
        let none = Diagnostic::error("--tensorboard: not every model has a step");
        return Err(Failure::bad_input(none.with_help("--step says where the step stands in the name of a model")));
    }
    let written: Result<(), FolderError> = write_atomically(&Path::new(".").join(folder).join(EVENTS), &events(board));
    written.map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))
}

/// Reads the named runs; without names, all runs of the folder that can be read, with a message for each other.
fn runs(arguments: &LeaderboardArguments) -> Result<Vec<RunData>, Failure> {
    let work_dir = arguments.work_dir();
    if !arguments.runs.is_empty() {
        return arguments.runs.iter().map(|named| read_run(&find_run(named, &work_dir)?)).collect();
    }
    let entries = std::fs::read_dir(&work_dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = entries.collect();
    paths.sort();
    let mut found = Vec::new();
    for folder in paths.iter().filter_map(|path| RunFolder::at(path)) {
        match read_run(&folder) {
            Ok(run) => found.push(run),
            Err(failure) => failure.diagnostics.iter().for_each(|why| report(Diagnostic::note(why.message.clone()))),
        }
    }
    if found.is_empty() {
        let none = Diagnostic::error(format!("there is no run with results in {}", work_dir.display()));
        return Err(Failure::bad_input(none.with_help("-w names the folder of the runs")));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_finds_no_step_is_said() {
        let run = |model: &str| RunData {
            name: "20260101_030000".into(),
            models: [(model.to_owned(), compass_compare::Facts::new())].into(),
            ..RunData::default()
        };
        let runs = [run("tiny-step100"), run("tiny-last")];
        let note = |step: &str| no_steps(&board_of(&runs, &step_pattern(step).unwrap()), step);
        assert!(note(r"ckpt-(\d+)").unwrap().contains("finds the step of none"));
        assert!(note(r"-step(\d+)").unwrap().contains("finds the step of 1 of 2 models"));
        assert_eq!((note(r"(\d+)_03"), note(STEP)), (None, None));
    }

    #[test]
    fn a_file_is_no_folder_for_tensorboard() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tb");
        std::fs::write(&file, "x").unwrap();
        assert_eq!(check_folder(&file).unwrap_err().code, exit::BAD_INPUT);
        assert_eq!(check_folder(&file.join("in")).unwrap_err().code, exit::BAD_INPUT);
        assert!(check_folder(folder.path()).is_ok() && check_folder(&folder.path().join("new/tb")).is_ok());
    }
}
