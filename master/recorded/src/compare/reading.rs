//! From a run folder to what is compared.

use super::facts;
use crate::data_column::{DatasetReader, data_column};
use compass_cli::exit;
use compass_compare::{ClusterBy, QuestionReader, RunData, SampleFacts, UnitBuilder, UnitData};
use compass_diagnostic::Diagnostic;
use compass_jobs::Failure;
use compass_plan::DatasetPlan;
use compass_planning::RecordedRun;
use compass_run_folder::{PlanError, RunFolder};
use compass_scoring::ScoreError;
use compass_types::ids::UnitId;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A run that was read: its values, and what its texts are read again from.
#[derive(Debug)]
pub(crate) struct OpenRun {
    pub data: RunData,
    pub recorded: RecordedRun,
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

/// By what samples are clustered.
#[derive(Clone, Copy)]
pub(crate) struct Clusters<'a> {
    pub by: &'a ClusterBy,
    /// Reads the columns that gold answers lack.
    pub datasets: Option<DatasetReader>,
}

impl<'a> Clusters<'a> {
    fn column(self) -> Option<Column<'a>> {
        match self.by {
            ClusterBy::Column(name) => Some(Column { name, datasets: self.datasets }),
            ClusterBy::Passage | ClusterBy::Nothing => None,
        }
    }
}

/// The column of the clusters.
#[derive(Clone, Copy)]
struct Column<'a> {
    name: &'a str,
    datasets: Option<DatasetReader>,
}

/// A data set of one run.
#[derive(Clone, Copy)]
struct Side<'a> {
    recorded: &'a RecordedRun,
    dataset: &'a DatasetPlan,
    column: Option<Column<'a>>,
}

impl Side<'_> {
    /// Returns whether another run asked exactly the same, so that one reading of the questions serves both.
    fn is_asked_as(&self, other: &Self) -> bool {
        let (one, other) = (self.dataset, other.dataset);
        one.parts == other.parts && one.infer.mode() == other.infer.mode() && one.shot_format == other.shot_format
    }
}

/// Result of reading a data set of one run: its units, and whether its gold answers have the column of the clusters.
type ReadUnits = (Vec<(UnitId, UnitData)>, bool);

/// Reads the units of a data set, of every run of `sides`, which ask the same. Only the first may have a column.
///
/// # Errors
/// A part is damaged or missing; with the position of its run in `sides`.
fn read_units(sides: &[Side<'_>]) -> Result<Vec<ReadUnits>, (usize, PlanError)> {
    let Some(first) = sides.first() else { return Ok(Vec::new()) };
    let mut questions = QuestionReader::new(first.dataset, first.column.map(|column| column.name));
    let builders = |side: &Side<'_>| {
        let units = side.recorded.plan.units().filter(|unit| std::ptr::eq(unit.dataset, side.dataset));
        units.map(|unit| (unit.id, UnitBuilder::new(unit))).collect::<Vec<_>>()
    };
    let mut builders: Vec<Vec<(UnitId, UnitBuilder)>> = sides.iter().map(builders).collect();
    if builders.iter().any(|units| !units.is_empty()) {
        for part in &first.dataset.parts {
            // The content of the first run's file is the others' too, if they are whole.
            for (at, side) in sides.iter().enumerate().skip(1) {
                side.recorded.check_plan_part(part).map_err(|error| (at, error))?;
            }
            let part = first.recorded.plan_part(part).map_err(|error| (0, error))?;
            questions.begin(&part);
            for sample in &part.samples {
                let facts = questions.facts(sample);
                for (side, units) in sides.iter().zip(&mut builders) {
                    let facts = SampleFacts { column: if side.column.is_some() { facts.column } else { 0 }, ..facts };
                    for (unit, builder) in units {
                        let result = side.recorded.result(*unit, sample).map(|(result, _)| result);
                        builder.observe(facts, sample, result.as_ref());
                    }
                }
            }
        }
    }
    let finished = |units: Vec<(UnitId, UnitBuilder)>| {
        let found = units.is_empty() || questions.found_column();
        (units.into_iter().map(|(unit, builder)| (unit, builder.finish())).collect(), found)
    };
    Ok(builders.into_iter().map(finished).collect())
}

/// A run without its values.
fn read_run(folder: &RunFolder) -> Result<RecordedRun, Failure> {
    let shown = folder.shown();
    let recorded = RecordedRun::read(folder).map_err(|error| unreadable(&shown, &error))?;
    if recorded.is_empty() {
        // A table is written when a run ends, also where every sample failed.
        if std::fs::read_dir(folder.summary()).is_ok_and(|mut tables| tables.next().is_some()) {
            let failed = Diagnostic::error(format!("the run {shown} has ended without a result of any sample"));
            let help = format!(
                "the table in {} says why; `compass-master --config FILE -r {}` runs what failed again",
                folder.summary().display(),
                folder.name()
            );
            return Err(Failure::bad_input(failed.with_help(help)));
        }
        let nothing = Diagnostic::error(format!("the run {shown} has no result"));
        let help = format!("finish it first: compass-master --config FILE -r {}", folder.name());
        return Err(Failure::bad_input(nothing.with_help(help)));
    }
    Ok(recorded)
}

/// Returns the facts of a run beside its values, and then these.
fn run_data(folder: &RunFolder, recorded: &RecordedRun, mut units: Vec<(UnitId, UnitData)>) -> RunData {
    let devices = facts::devices(folder);
    let plan = &recorded.plan;
    units.sort_by_key(|(unit, _)| *unit);
    let mut data = RunData {
        name: folder.shown(),
        plan: recorded.digest.short(),
        groups: facts::groups(folder),
        units: units.into_iter().map(|(_, unit)| unit).collect(),
        ..RunData::default()
    };
    for (at, model) in plan.models() {
        data.models.insert(model.abbr.clone(), facts::of_model(recorded, at, model, &devices));
    }
    for dataset in &plan.datasets {
        data.datasets.insert(dataset.abbr.clone(), facts::of_dataset(dataset));
    }
    data
}

/// Reads runs, what they ask alike once, on two threads.
fn read_all<'a>(
    runs: &[(&'a RunFolder, &'a RecordedRun, Option<Column<'a>>)],
    is_asked: impl Fn(&str) -> bool,
) -> Result<Vec<Vec<(UnitId, UnitData)>>, Failure> {
    // Each with the positions of the runs.
    let mut work: Vec<(Vec<usize>, Vec<Side<'a>>)> = Vec::new();
    for (at, &(_, recorded, column)) in runs.iter().enumerate() {
        for dataset in recorded.plan.datasets.iter().filter(|dataset| is_asked(&dataset.abbr)) {
            let side = Side { recorded, dataset, column };
            let alike = |(of, sides): &&mut (Vec<usize>, Vec<Side<'a>>)| {
                !of.contains(&at) && sides.first().is_some_and(|first| side.is_asked_as(first))
            };
            match work.iter_mut().find(alike).filter(|_| column.is_none()) {
                Some((of, sides)) => (of.push(at), sides.push(side)).1,
                None => work.push((vec![at], vec![side])),
            }
        }
    }
    let next = AtomicUsize::new(0);
    let one_after_the_other = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((of, sides)) = work.get(at) else { return done };
            done.push((at, of, sides, read_units(sides)));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let other = scope.spawn(one_after_the_other);
        let mut done = one_after_the_other();
        done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        done
    });
    let mut units: Vec<Vec<(UnitId, UnitData)>> = runs.iter().map(|_| Vec::new()).collect();
    // Of several faults the first one is reported, whichever thread found it.
    done.sort_by_key(|(at, ..)| *at);
    for (_, of, sides, read) in done {
        let read = read.map_err(|(side, error)| {
            let run = of.get(side).and_then(|at| runs.get(*at)).map(|(folder, ..)| folder.shown());
            unreadable(&run.unwrap_or_default(), &ScoreError::from(error))
        })?;
        for ((&at, side), (mut read, found)) in of.iter().zip(sides).zip(read) {
            let (Some((folder, ..)), Some(units)) = (runs.get(at), units.get_mut(at)) else { continue };
            if let (Some(Column { name, datasets: Some(read_dataset) }), false) = (side.column, found) {
                let values = data_column(folder, side.dataset, name, read_dataset).map_err(Failure::bad_input)?;
                read.iter_mut().for_each(|(_, unit)| unit.cluster_by(&values));
            }
            units.append(&mut read);
        }
    }
    Ok(units)
}

/// Reads a run. Waits for the disk.
///
/// # Errors
/// It is damaged, holds no result, or neither its gold answers nor its data have the column of the clusters.
pub(crate) fn open(
    folder: &RunFolder,
    clusters: Clusters<'_>,
    is_asked: impl Fn(&str) -> bool,
) -> Result<OpenRun, Failure> {
    let recorded = read_run(folder)?;
    let units = read_all(&[(folder, &recorded, clusters.column())], is_asked)?.pop().unwrap_or_default();
    Ok(OpenRun { data: run_data(folder, &recorded, units), recorded })
}

/// Reads two runs at a time. What samples are clustered by is read of the first.
///
/// # Errors
/// As [`open`]; of two the first run's.
pub(crate) fn open_both(
    folders: (&RunFolder, &RunFolder),
    clusters: Clusters<'_>,
    is_asked: impl Fn(&str) -> bool + Sync,
) -> Result<(OpenRun, OpenRun), Failure> {
    let (a, b) = std::thread::scope(|scope| {
        let second = scope.spawn(|| read_run(folders.1));
        let first = read_run(folders.0);
        (first, second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let (a, b) = (a?, b?);
    let mut units = read_all(&[(folders.0, &a, clusters.column()), (folders.1, &b, None)], is_asked)?.into_iter();
    let of_a = run_data(folders.0, &a, units.next().unwrap_or_default());
    let of_b = run_data(folders.1, &b, units.next().unwrap_or_default());
    Ok((OpenRun { data: of_a, recorded: a }, OpenRun { data: of_b, recorded: b }))
}

fn unreadable(run: &str, error: &ScoreError) -> Failure {
    let failure = Failure::of(exit::BAD_INPUT, error);
    let closing = format!("the run {run} cannot be read; nothing was compared");
    Failure { diagnostics: failure.diagnostics.with_closing(closing), ..failure }
}
