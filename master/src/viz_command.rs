//! Runs `compass-master viz`: the table of a run as it was last written, or a part of it.
//!
//! It reads the long form in the run folder and nothing else: neither the configuration nor the store is asked.

use crate::cli::{NameFilter, VizArguments, terminal_width};
use crate::exit;
use crate::job::Failure;
use crate::pipeline::latest_table;
use compass_common::status_output::{OutputError, print};
use compass_config::Overrides;
use compass_diagnostic::Diagnostic;
use compass_eval::summary::Summary;
use std::path::{Path, PathBuf};

/// Where run folders are made by default.
const WORK_DIR: &str = "outputs/default";

/// Prints the table.
///
/// # Errors
/// There is no such run, it has no table, or nothing of it is asked for.
pub fn run(arguments: &VizArguments, overrides: impl FnOnce() -> Overrides) -> Result<u8, Failure> {
    let work_dir = match (&arguments.work_dir, &arguments.config) {
        (Some(folder), _) => folder.clone(),
        (None, Some(file)) => {
            compass_config::load(Some(file), &overrides()).map_err(Failure::bad_input)?.config.work_dir
        }
        (None, None) => WORK_DIR.into(),
    };
    let path = table_of(&work_dir, arguments.run.as_deref()).map_err(Failure::bad_input)?;
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Failure::bad_input(Diagnostic::error(format!("cannot read {}: {error}", path.display()))))?;
    let Some(table) = Summary::from_long_csv(&text) else {
        let damaged = Diagnostic::error(format!("{} does not hold a table that `viz` can read", path.display()));
        return Err(Failure::bad_input(damaged.with_help("`-m viz -r RUN` makes it again")));
    };
    let (models, names) = (table.models().join(", "), table.names().join(", "));
    let is_meant = |filters: &[NameFilter], name: &str| NameFilter::any(filters, name);
    let part = table.only(|name| is_meant(&arguments.models, name), |name| is_meant(&arguments.datasets, name));
    if part.is_empty() {
        let nothing = Diagnostic::error("nothing of the table is asked for");
        let help = format!("the models are {models}; the data sets are {names}");
        return Err(Failure::bad_input(nothing.with_help(help)));
    }
    let part = part.with_average();
    let part = match &arguments.sort {
        None => part,
        Some(name) => part.sorted_by(name).map_err(|error| Failure::of(exit::BAD_INPUT, &error))?,
    };
    let text = match (arguments.csv, terminal_width()) {
        (true, _) => part.long_csv(),
        (false, Some(width)) => part.within(width),
        (false, None) => part.text(),
    };
    print(text).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))?;
    Ok(exit::SCORED)
}

/// The file with the table that is meant.
fn table_of(work_dir: &Path, run: Option<&str>) -> Result<PathBuf, Diagnostic> {
    let runs = std::fs::read_dir(work_dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut runs: Vec<PathBuf> = runs.filter(|path| latest_table(path).is_some()).collect();
    runs.sort();
    let found = match run {
        None => runs.last().and_then(|run| latest_table(run)),
        Some(run) => latest_table(&work_dir.join(run)).or_else(|| latest_table(Path::new(run))),
    };
    found.ok_or_else(|| {
        let names = runs.iter().filter_map(|run| Some(run.file_name()?.to_string_lossy().into_owned()));
        let names = names.collect::<Vec<_>>().join(", ");
        let what = match run {
            Some(run) => format!("there is no table of a run `{run}` in {}", work_dir.display()),
            None => format!("no run in {} has a table", work_dir.display()),
        };
        let help = match names.as_str() {
            "" => "-w names the folder of the runs; `-m viz -r RUN` makes the table of one that has none".to_owned(),
            names => format!("the runs with a table are {names}; `-m viz -r RUN` makes that of another"),
        };
        Diagnostic::error(what).with_help(help)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_that_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let work_dir = folder.path().join("out");
        let said = |run: Option<&str>| table_of(&work_dir, run);
        assert!(said(None).unwrap_err().message.contains("no run in"));
        for (run, file) in
            [("20260101_000000", "long_1.csv"), ("20260102_000000", "long_2.csv"), ("20260103_000000", "x")]
        {
            std::fs::create_dir_all(work_dir.join(run).join("summary")).unwrap();
            std::fs::write(work_dir.join(run).join("summary").join(file), "").unwrap();
        }
        assert!(said(None).unwrap().ends_with("20260102_000000/summary/long_2.csv"), "the latest that has one");
        assert!(said(Some("20260101_000000")).unwrap().ends_with("long_1.csv"));
        let whole = work_dir.join("20260101_000000");
        assert!(said(whole.to_str()).is_ok(), "by its folder");
        let help = said(Some("20260103_000000")).unwrap_err().help.unwrap();
        assert!(help.contains("20260101_000000, 20260102_000000"), "{help}");
    }
}
