//! From a run folder to what is compared.

use super::facts;
use crate::exit;
use crate::job::Failure;
use crate::pipeline::{PlanError, RecordedRun, RunFolder, ScoreError, data_column};
use compass_compare::{ClusterBy, QuestionReader, RunData, UnitBuilder, UnitData};
use compass_diagnostic::Diagnostic;
use compass_plan::{DatasetPlan, Unit};
use compass_types::ids::UnitId;
use std::path::Path;

/// A run that was read: its values, and what its texts are read again from.
#[derive(Debug)]
pub(crate) struct OpenRun {
    pub(crate) data: RunData,
    pub(crate) recorded: RecordedRun,
}

/// Finds a run: by its folder, or by its name in `work_dir`.
///
/// # Errors
/// It is neither.
pub(crate) fn find_run(named: &Path, work_dir: &Path) -> Result<RunFolder, Failure> {
    let within = work_dir.join(named);
    if let Some(folder) = RunFolder::at(named).or_else(|| RunFolder::at(&within)) {
        return Ok(folder);
    }
    let shown = named.display();
    let (message, help) = match named.is_dir() {
        true if named.join("predictions").is_dir() => (
            format!("{shown} has predictions and no plan of this program"),
            format!(
                "score it first, which makes a plan beside them: compass-master --config FILE -w {} -r {} -m eval",
                named.parent().unwrap_or(Path::new(".")).display(),
                named.file_name().unwrap_or_default().to_string_lossy()
            ),
        ),
        true => (format!("{shown} is not the folder of a run: it has no plan/job.json"), help_of(named)),
        false => {
            (format!("there is no run `{shown}`, neither as a folder nor in {}", work_dir.display()), help_of(work_dir))
        }
    };
    Err(Failure::bad_input(Diagnostic::error(message).with_help(help)))
}

/// The runs of a folder, as a remedy.
fn help_of(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut names: Vec<String> = entries
        .filter(|path| RunFolder::at(path).is_some())
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    match names.as_slice() {
        [] => format!("name the folder of a run; there is none in {}", folder.display()),
        names => format!("the runs in {} are {}", folder.display(), names.join(", ")),
    }
}

/// Reads a run. Waits for the disk.
///
/// # Errors
/// It is damaged, holds no result, or neither its gold answers nor its data have the column of the clusters.
pub(crate) fn open(
    folder: &RunFolder,
    cluster: &ClusterBy,
    is_asked: impl Fn(&str) -> bool,
) -> Result<OpenRun, Failure> {
    let shown = folder.shown();
    let recorded = RecordedRun::read(folder).map_err(|error| unreadable(&shown, &error))?;
    if recorded.is_empty() {
        let nothing = Diagnostic::error(format!("the run {shown} has no result"));
        let help = format!("finish it first: compass-master --config FILE -r {}", folder.name());
        return Err(Failure::bad_input(nothing.with_help(help)));
    }
    let column = match cluster {
        ClusterBy::Column(name) => Some(name.as_str()),
        ClusterBy::Passage | ClusterBy::Nothing => None,
    };
    let devices = facts::devices(folder);
    let plan = &recorded.plan;
    let mut data = RunData {
        name: shown.clone(),
        plan: recorded.digest.short(),
        groups: facts::groups(folder),
        ..RunData::default()
    };
    for (at, model) in plan.models() {
        data.models.insert(model.abbr.clone(), facts::of_model(&recorded, at, model, &devices));
    }
    for dataset in &plan.datasets {
        data.datasets.insert(dataset.abbr.clone(), facts::of_dataset(dataset));
    }
    let mut observed = Vec::new();
    for dataset in plan.datasets.iter().filter(|dataset| is_asked(&dataset.abbr)) {
        let units: Vec<Unit<'_>> = plan.units().filter(|unit| std::ptr::eq(unit.dataset, dataset)).collect();
        if units.is_empty() {
            continue;
        }
        let units = read_units(&recorded, dataset, &units, column);
        let (mut units, found) = units.map_err(|error| unreadable(&shown, &ScoreError::from(error)))?;
        if let (Some(column), false) = (column, found) {
            let values = data_column(folder, dataset, column).map_err(Failure::bad_input)?;
            units.iter_mut().for_each(|(_, unit)| unit.cluster_by(&values));
        }
        observed.append(&mut units);
    }
    observed.sort_by_key(|(unit, _)| *unit);
    data.units = observed.into_iter().map(|(_, unit)| unit).collect();
    Ok(OpenRun { data, recorded })
}

/// Reads the units of one data set, and whether its gold answers have the column of the clusters.
fn read_units(
    recorded: &RecordedRun,
    dataset: &DatasetPlan,
    units: &[Unit<'_>],
    column: Option<&str>,
) -> Result<(Vec<(UnitId, UnitData)>, bool), PlanError> {
    let ids: Vec<UnitId> = units.iter().map(|unit| unit.id).collect();
    let mut builders: Vec<UnitBuilder> = units.iter().map(|unit| UnitBuilder::new(*unit)).collect();
    let mut questions = QuestionReader::new(dataset, column);
    let mut part_before = None;
    recorded.samples_of(dataset, &ids, |part, sample, results| {
        // A part is handed with each of its samples.
        let first = part.samples.first().map(|sample| sample.index);
        if part_before != first {
            questions.begin(part);
            part_before = first;
        }
        let facts = questions.facts(sample);
        for (builder, result) in builders.iter_mut().zip(results) {
            builder.observe(facts, sample, result.as_ref());
        }
    })?;
    let built = ids.into_iter().zip(builders.into_iter().map(UnitBuilder::finish)).collect();
    Ok((built, questions.found_column()))
}

/// Reads two runs at a time, which takes as long as one. What samples are clustered by is read of the first.
///
/// # Errors
/// As [`open`]; of two the first run's.
pub(crate) fn open_both(
    folders: (&RunFolder, &RunFolder),
    cluster: &ClusterBy,
    is_asked: impl Fn(&str) -> bool + Sync,
) -> Result<(OpenRun, OpenRun), Failure> {
    let (a, b) = std::thread::scope(|scope| {
        let second = scope.spawn(|| open(folders.1, &ClusterBy::Nothing, &is_asked));
        let first = open(folders.0, cluster, &is_asked);
        (first, second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    Ok((a?, b?))
}

fn unreadable(run: &str, error: &ScoreError) -> Failure {
    let failure = Failure::of(exit::BAD_INPUT, error);
    let closing = format!("the run {run} cannot be read; nothing was compared");
    Failure { diagnostics: failure.diagnostics.with_closing(closing), ..failure }
}
