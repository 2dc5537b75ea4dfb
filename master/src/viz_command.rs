//! Runs `compass-master viz`: the table of a run as it was last written, or a part of it.
//!
//! It reads the long form in the run folder and nothing else: neither the configuration nor the store is asked.

use super::cli::viewing::VizArguments;
use compass_cli::exit;
use compass_cli::terminal::terminal_width;
use compass_common::regular_file;
use compass_common::status_output::{OutputError, print, report};
use compass_config::Overrides;
use compass_diagnostic::Diagnostic;
use compass_diagnostic::spelling::nearest;
use compass_eval::summary::Summary;
use compass_jobs::Failure;
use compass_recorded::NameFilter;
use compass_scoring::latest_table;
use std::path::{Path, PathBuf};

/// Folder in which run folders are made by default.
const WORK_DIR: &str = "outputs/default";

/// Names that a remedy lists.
const NAMED: usize = 6;

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
    let text = regular_file::read_text(&path, regular_file::LARGE)
        .map_err(|error| Failure::bad_input(Diagnostic::error(format!("cannot read {}: {error}", path.display()))))?;
    let Some(table) = Summary::from_long_csv(&text) else {
        let damaged = Diagnostic::error(format!("{} does not hold a table that `viz` can read", path.display()));
        return Err(Failure::bad_input(damaged.with_help("`-m viz -r RUN` makes it again")));
    };
    let part = part(table, arguments).map_err(Failure::bad_input)?;
    let text = match (arguments.csv, terminal_width()) {
        (true, _) => part.long_csv(),
        (false, Some(width)) => part.within(width),
        (false, None) => part.text(),
    };
    print(text).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))?;
    Ok(exit::SCORED)
}

/// The models and rows that are asked for, in the order that is asked for.
fn part(table: Summary, arguments: &VizArguments) -> Result<Summary, Diagnostic> {
    check_filters(&arguments.models, "model", table.models().iter().map(String::as_str))?;
    check_filters(&arguments.datasets, "data set or group", table.names())?;
    let names: Vec<String> = table.names().into_iter().map(str::to_owned).collect();
    let is_meant = |filters: &[NameFilter], name: &str| NameFilter::any(filters, name);
    let is_row = |name: &str| names.iter().any(|known| known == name) && is_meant(&arguments.datasets, name);
    let asked = |table: Summary| table.only(|name| is_meant(&arguments.models, name), is_row).with_average();
    let part = asked(table.clone());
    let Some(sort) = &arguments.sort else { return Ok(part) };
    // A row that the filters leave out orders the models as well.
    part.sorted_by(sort).or_else(|_| {
        let whole = table.with_average().sorted_by(sort).map_err(|error| {
            let known = error.known().iter().map(String::as_str).collect::<Vec<_>>();
            Diagnostic::of(&error).with_help(suggestion(sort, &known))
        })?;
        Ok(asked(whole))
    })
}

/// Refuses filters none of which means a name, and notes one that means none beside others.
fn check_filters<'n>(
    filters: &[NameFilter],
    what: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Result<(), Diagnostic> {
    let names: Vec<&str> = names.into_iter().collect();
    let is_empty = |filter: &&NameFilter| !names.iter().any(|name| filter.matches(name));
    let empty: Vec<&NameFilter> = filters.iter().filter(is_empty).collect();
    let said = |filter: &NameFilter| format!("no {what} of the table is called like `{}`", filter.as_ref());
    match empty.first() {
        Some(first) if empty.len() == filters.len() => {
            Err(Diagnostic::error(said(first)).with_help(suggestion(first.as_ref(), &names)))
        }
        _ => {
            empty.iter().for_each(|filter| report(Diagnostic::note(said(filter))));
            Ok(())
        }
    }
}

/// The nearest name, else the first names and how many more there are.
fn suggestion(name: &str, known: &[&str]) -> String {
    if let Some(near) = nearest(name, known.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    let named = known.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match known.len().saturating_sub(NAMED) {
        0 => format!("there are {named}"),
        more => format!("there are {named} and {more} more"),
    }
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
            _ if !work_dir.is_dir() => format!("there is no folder {}", work_dir.display()),
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
    use clap::Parser;

    /// Models `m0` to `m8` on data sets `e0` and `e1`: the later, the better on `e1` and the worse on `e0`.
    fn table() -> Summary {
        let mut text = "dataset,version,metric,mode,model,value,expected,scored,failed,reason\n".to_owned();
        for dataset in 0..2_u32 {
            for model in 0..9_u32 {
                let value = if dataset == 0 { 40 - model } else { 10 + 3 * model };
                text += &format!("e{dataset},v,accuracy,gen,m{model},{value}.0,10,10,0,\n");
            }
        }
        Summary::from_long_csv(&text).unwrap()
    }

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        viz: VizArguments,
    }

    fn asked(words: &str) -> Result<Summary, Diagnostic> {
        part(table(), &Line::parse_from(["viz"].into_iter().chain(words.split(' '))).viz)
    }

    #[test]
    fn a_filter_that_means_nothing_is_named_with_the_nearest_name_or_six() {
        let said = |words: &str| asked(words).unwrap_err().to_string();
        assert_eq!(
            said("--models nosuch"),
            "error: no model of the table is called like `nosuch`\n  = help: there are m0, m1, m2, m3, m4, m5 and 3 more"
        );
        assert_eq!(
            said("--datasets e9"),
            "error: no data set or group of the table is called like `e9`\n  = help: did you mean `e0`?"
        );
        assert_eq!(
            said("--sort nosuch"),
            "error: the table has nothing called `nosuch` to sort by\n  = help: there are e0, e1, average, accuracy, \
             naive_average"
        );
        assert_eq!(asked("--models m1 nosuch").unwrap().models(), ["m1"], "one of several is noted");
    }

    #[test]
    fn a_row_that_is_left_out_orders_the_models() {
        let order = |words: &str| asked(words).map(|part| (part.models().join(" "), part.names().join(" "))).unwrap();
        let is = |models: &str, names: &str| (models.to_owned(), names.to_owned());
        assert_eq!(order("--models m1 m2 m3 --datasets e0"), is("m1 m2 m3", "e0"));
        assert_eq!(order("--models m1 m2 m3 --datasets e0 --sort average"), is("m3 m2 m1", "e0"));
        assert_eq!(order("--models m1 m2 m3 --datasets e0 --sort E1"), is("m3 m2 m1", "e0"));
        assert_eq!(order("--models m1 m2 m3 --datasets e0 --sort e0"), is("m1 m2 m3", "e0"));
    }

    #[test]
    fn the_run_that_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let work_dir = folder.path().join("out");
        let said = |run: Option<&str>| table_of(&work_dir, run);
        assert!(said(None).unwrap_err().message.starts_with("there is no folder "));
        std::fs::create_dir(&work_dir).unwrap();
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
