//! Runs `compass-master compare`.

use super::files::write_file;
use super::flips::flips;
use super::reading::{Clusters, find_run, open_both};
use crate::DatasetReader;
use crate::arguments::CompareArguments;
use crate::arguments::NameFilter;
use compass_cli::exit;
use compass_cli::terminal::terminal_width;
use compass_common::status_output::{OutputError, print};
use compass_compare::report::{html, json, markdown, text};
use compass_compare::{CompareError, Comparison, Conclusion, Flip, Options, compare};
use compass_diagnostic::Diagnostic;
use compass_jobs::Failure;
use compass_run_folder::RunFolder;

/// Compares two runs and shows how they differ. With a margin the exit code is the conclusion: 0 no worse, 1 worse by more than the
/// margin, 5 cannot tell.
///
/// # Errors
/// A run cannot be read, they cannot be compared, or a report cannot be written.
pub fn run(arguments: &CompareArguments, datasets: DatasetReader) -> Result<u8, Failure> {
    let work_dir = arguments.work_dir();
    let cluster = arguments.cluster();
    let is_asked = |name: &str| arguments.datasets.is_empty() || NameFilter::any(&arguments.datasets, name);
    let folders = (find_run(&arguments.run_a, &work_dir)?, find_run(&arguments.run_b, &work_dir)?);
    let options = Options {
        models: arguments.models.clone(),
        metrics: arguments.metric.clone(),
        first_metric: arguments.metric.is_empty(),
        relative: 0.0,
        cluster,
        margin: arguments.margin,
        correction: arguments.correction.into(),
        confidence: arguments.confidence,
        allow_partial: arguments.allow_partial,
        flips: arguments.flips,
        may_be_empty: false,
    };
    let (comparison, flips) = compared((&folders.0, &folders.1), &options, Some(datasets), is_asked)?;
    if let Some(path) = &arguments.json {
        write_file(path, &format!("{:#}\n", json(&comparison, &flips)))?;
    }
    if let Some(path) = &arguments.md {
        write_file(path, &markdown(&comparison, &flips))?;
    }
    if let Some(path) = &arguments.html {
        write_file(path, &html(&comparison, &flips))?;
    }
    print(text(&comparison, &flips, terminal_width()))
        .map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))?;
    Ok(code(&comparison))
}

/// Two runs compared, with the texts of what flipped. Only with `datasets` can samples be clustered by a column that their gold
/// answers lack. Waits for the disk.
///
/// # Errors
/// A run cannot be read, or they cannot be compared.
pub fn compared(
    folders: (&RunFolder, &RunFolder),
    options: &Options,
    datasets: Option<DatasetReader>,
    is_asked: impl Fn(&str) -> bool + Sync,
) -> Result<(Comparison, Vec<Flip>), Failure> {
    let (a, b) = open_both(folders, Clusters { by: &options.cluster, datasets }, is_asked)?;
    let comparison = compare(&a.data, &b.data, options).map_err(refused)?;
    let flips = flips(&comparison, &a, &b)?;
    Ok((comparison, flips))
}

/// Returns the exit code.
fn code(comparison: &Comparison) -> u8 {
    let conclusions = || comparison.rows.iter().map(|row| row.conclusion);
    if comparison.margin.is_none() {
        return exit::SCORED;
    }
    if conclusions().any(|conclusion| conclusion == Conclusion::BeyondMargin) {
        return exit::INCOMPLETE;
    }
    if conclusions().any(|conclusion| matches!(conclusion, Conclusion::Inconclusive { .. })) {
        return exit::INCONCLUSIVE;
    }
    exit::SCORED
}

/// Everything that is wrong, each with its remedy.
pub(super) fn refused(errors: Vec<CompareError>) -> Failure {
    let diagnostics = errors.into_iter().map(|error| Diagnostic::error(error.message).with_help(error.help));
    Failure::bad_input(diagnostics.collect::<Vec<_>>())
}
