//! A column of the data that a run was made of. A run keeps of each row its prompts and its gold answer; the other columns are
//! read again from the files, which counts only where they still make the very plan of that run.

use compass_diagnostic::{Diagnostic, Diagnostics};
use compass_plan::DatasetPlan;
use compass_plan::prompt::RowSource as _;
use compass_planning::{Rows, plan_dataset};
use compass_run_folder::{PlanFiles, RunFolder};
use compass_settings::DatasetConfig;
use serde_json::Value;
use std::path::Path;

/// Reads a data set of the configuration that a run keeps, by its name: the program that compares knows how these are written.
pub type DatasetReader = fn(&Path, &str) -> Result<Option<DatasetConfig>, Diagnostics>;

/// The value of `column` in each row of `planned`, by index of its sample; `None` in its place where a row has none.
///
/// # Errors
/// The run kept no configuration, the files are not there or not as they were, or no row has the column.
pub(crate) fn data_column(
    folder: &RunFolder,
    planned: &DatasetPlan,
    column: &str,
    read: DatasetReader,
) -> Result<Vec<Option<Value>>, Diagnostics> {
    let dataset = &planned.abbr;
    let resolved = folder.resolved_config();
    let refused = |message: String, help: &str| Diagnostics::from(vec![Diagnostic::error(message).with_help(help)]);
    if !resolved.is_file() {
        let message =
            format!("`{column}` is no column of {dataset}'s gold answers, and {} is missing", resolved.display());
        return Err(refused(message, "without it nothing says from which files the other columns can be read"));
    }
    let Some(config) = read(&resolved, dataset)? else {
        let message = format!("{} has no data set {dataset}", resolved.display());
        return Err(refused(message, "the run was planned from another configuration"));
    };
    let rows = rows(&config)?;
    let again = plan_dataset(&config, &mut PlanFiles::default()).map_err(|faults| Diagnostics::from(faults.found))?;
    if again.0.parts != planned.parts {
        let message = format!("the data of {dataset} is not what the run {} was made of", folder.shown());
        let help = format!("bring back {} as it was: `{column}` is read from there", rows.files());
        return Err(refused(message, &help));
    }
    let values: Vec<Option<Value>> =
        (0..rows.len()).map(|at| rows.row(at).and_then(|row| row.get(column).cloned())).collect();
    if values.iter().all(Option::is_none) {
        let message = format!("neither a gold answer nor a row of {dataset} has a column `{column}`");
        return Err(refused(message, &format!("the columns are {}", rows.columns().join(", "))));
    }
    Ok(values)
}

/// The rows that are asked, in the order of their samples.
fn rows(config: &DatasetConfig) -> Result<Rows, Diagnostics> {
    let read = Rows::read(&config.test, "test_range", &config.test_range);
    let rows = read.map_err(|faults| Diagnostics::from(faults.found))?;
    Ok(rows.limited(config.limit).numbered(&config.abbr))
}
