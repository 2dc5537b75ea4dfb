//! Runs `compass-master why`.

use super::gather::{WhyQuery, class_names, gather};
use super::text::text;
use crate::arguments::{WhyArguments, work_dir};
use crate::compare::find_run;
use crate::runs::OpenedRun;
use compass_cli::exit;
use compass_common::status_output::{OutputError, print};
use compass_diagnostic::Diagnostic;
use compass_diagnostic::spelling::suggest;
use compass_jobs::Failure;

/// Shows the answers of a run by their classes.
///
/// # Errors
/// The run does not exist, or it lacks the model, the data set or the class; all of them at once.
pub fn run(arguments: &WhyArguments) -> Result<u8, Failure> {
    let folder = find_run(&arguments.run, &work_dir(arguments.work_dir.as_ref()))?;
    let name = folder.name().to_owned();
    let run = OpenedRun::read(folder).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
    let plan = &run.recorded.plan;
    let models: Vec<&str> = plan.models.iter().map(|model| model.abbr.as_str()).collect();
    let datasets: Vec<&str> = plan.datasets.iter().map(|dataset| dataset.abbr.as_str()).collect();
    let asked = [
        (&arguments.model, models, ("model", "models")),
        (&arguments.dataset, datasets, ("data set", "data sets")),
        (&arguments.class, class_names(), ("class", "classes")),
    ];
    let unknown: Vec<Diagnostic> = asked
        .iter()
        .filter_map(|(asked, known, (what, several))| {
            let asked = asked.as_ref().filter(|asked| !known.contains(&asked.as_str()))?;
            let message = format!("there is no {what} `{asked}` in {name}");
            Some(Diagnostic::error(message).with_help(suggest(asked, known.iter().copied(), several)))
        })
        .collect();
    if !unknown.is_empty() {
        return Err(Failure::bad_input(unknown));
    }
    let named = |asked: &Option<String>| asked.clone().unwrap_or_default();
    let query = WhyQuery {
        model: named(&arguments.model),
        dataset: named(&arguments.dataset),
        class: named(&arguments.class),
        number: arguments.number,
    };
    let units = gather(&run, &query).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
    let shown = match arguments.json {
        true => serde_json::to_string_pretty(&units).unwrap_or_default() + "\n",
        false => text(&units, &name),
    };
    print(shown).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))?;
    Ok(exit::SCORED)
}
