//! The run that a job works on: an old one, a new one, one that was never planned whole, or one that another evaluator left.

use super::failure::Failure;
use super::request::JobRequest;
use crate::http::secrets::HttpSecrets;
use compass_cli::exit;
use compass_common::status_output::{print_status, report};
use compass_diagnostic::Diagnostic;
use compass_planning::{CarriedOver, EarlierRun, Gaps};
use compass_run_folder::{Begun, PlanError, Planned, ReadPlan, RunFolder};
use compass_scheduler::{DeviceType, Recorded};
use compass_settings::Config;
use compass_types::ids::{Digest, UnitId};
use compass_types::result::SampleResult;
use std::sync::Arc;
use tokio::task::block_in_place;

/// Folder of a job's run, and the related runs and plan.
#[derive(Clone, Debug)]
pub struct OpenedRun {
    pub folder: RunFolder,
    /// Another run, of which this one took over what is the same.
    pub earlier: Option<RunFolder>,
    /// The plan in the folder, where opening it has read or written it.
    pub plan: Option<ReadPlan>,
}

impl From<RunFolder> for OpenedRun {
    fn from(folder: RunFolder) -> Self {
        Self { folder, earlier: None, plan: None }
    }
}

/// Results of an earlier run for a new plan.
struct EarlierResults {
    from: RunFolder,
    carried: CarriedOver,
}

/// Reads what opens and encrypts the HTTP port: a fault in it is found while nothing was started.
///
/// # Errors
/// The token, the certificate or its key cannot be used.
pub fn check_http(config: &Config) -> Result<(), Failure> {
    let read = config.http.as_ref().map(HttpSecrets::read).transpose();
    read.map(drop).map_err(|error| Failure::of_http(&error))
}

/// The run to work on: an old one that was planned from the same configuration, or a new one with its plan and with what
/// an old one has of it. `running` knows the folder of a plan whose run is led by somebody now.
///
/// # Errors
/// Bad input, or a disk or a store that fails; nothing was started.
pub async fn open_run(
    config: &Config,
    request: &JobRequest,
    running: impl AsyncFn(&Digest) -> Result<Option<RunFolder>, Failure>,
) -> Result<OpenedRun, Failure> {
    if request.infers() && !request.served {
        check_http(config)?;
    }
    let Some(name) = &request.reuse else {
        let planned = planned(config)?;
        return match running(&Digest::of(&planned.head)).await? {
            Some(folder) => Ok(folder.into()),
            None => begin(config, request, None, &planned, None).await,
        };
    };
    if let Some(folder) = RunFolder::foreign(&config.work_dir, name) {
        return adopt(folder, config, request).await;
    }
    let begun = match request.infers() {
        true => RunFolder::find_begun(&config.work_dir, Some(name)),
        // Without a plan there is nothing to score.
        false => RunFolder::find(&config.work_dir, Some(name)).map(Begun::Planned),
    };
    let folder = match begun.map_err(|error| Failure::of_folder(&error))? {
        Begun::Planned(folder) => folder,
        Begun::Unplanned(folder) => return plan_again(config, request, folder).await,
    };
    let read = read_plan(&folder)?;
    let is_same = read.plan.config == compass_settings::digest(config);
    // What was computed can be scored whatever lies at the models' paths by now.
    let holds = is_same && (!request.infers() || block_in_place(|| compass_planning::holds(&read.plan)));
    // What is run beside the predictions of another evaluator has a folder of its own.
    let is_adopted = request.infers() && folder.is_adopted();
    let earlier = if holds && !is_adopted { None } else { Some(earlier_run(config, &folder, &read).await?) };
    let overwritten = |run: &EarlierRun| !holds && !block_in_place(|| run.overwritten()).is_empty();
    let lacks_some = |run: &EarlierRun| is_adopted && run.recorded() < read.plan.expected();
    let Some(run) = earlier.filter(|run| !is_same || overwritten(run) || lacks_some(run)) else {
        return Ok(in_place(config, folder, read));
    };
    // Another configuration, or other weights: what is asked for again is kept, the rest is run.
    let planned = match request.infers() {
        true => planned(config)?,
        false => {
            block_in_place(|| compass_planning::plan_scores(config, &run)).map_err(|error| Failure::of_plan(&error))?
        }
    };
    if !request.infers() {
        if run.is_planned_as(&planned.plan) {
            // Only what is not there any more makes the configuration another.
            return Ok(in_place(config, folder, read));
        }
        let absent = config.datasets.iter().filter_map(|dataset| Some((&dataset.abbr, dataset.absent.as_ref()?)));
        for (abbr, absent) in absent {
            let note = format!("data set `{abbr}` is scored by the rows of {}: {absent}", folder.name());
            report(Diagnostic::note(note));
        }
    }
    let kept = kept(folder, run, &planned)?;
    let (name, count, expected) = (kept.from.name(), kept.carried.results.len(), planned.plan.expected());
    let drawn = match kept.carried.drawn.len() {
        0 => String::new(),
        drawn => format!(", and the answers that were drawn for {drawn} more, to which others are added"),
    };
    let opened = begin(config, request, None, &planned, Some(kept)).await?;
    let what = match (is_same, holds && is_adopted) {
        (false, _) => "the configuration is not that",
        (true, true) => "the predictions are those",
        (true, false) => "the weights are not those",
    };
    print_status(format!(
        "{what} of {name}: {count} of {expected} samples are the same and kept{drawn}, in {}",
        opened.folder.shown()
    ));
    Ok(opened)
}

/// A run with the plan that it has.
fn in_place(config: &Config, folder: RunFolder, read: ReadPlan) -> OpenedRun {
    let earlier = folder.earlier().and_then(|name| RunFolder::at(&config.work_dir.join(name)));
    OpenedRun { folder, earlier, plan: Some(read) }
}

/// The run in the folder called `name`, which was made for this job: planned now where it has no plan, else as it was planned,
/// whatever lies at the models' paths by now.
///
/// # Errors
/// Bad input, no such folder, or a disk or a store that fails; nothing was started.
pub async fn open_in(config: &Config, request: &JobRequest, name: &str) -> Result<OpenedRun, Failure> {
    match RunFolder::find_begun(&config.work_dir, Some(name)).map_err(|error| Failure::of_folder(&error))? {
        Begun::Planned(folder) => {
            let plan = Some(read_plan(&folder)?);
            Ok(OpenedRun { folder, earlier: None, plan })
        }
        Begun::Unplanned(folder) => begin(config, request, Some(folder), &planned(config)?, None).await,
    }
}

/// Goes on in a folder in which a master was stopped before its plan was whole.
async fn plan_again(config: &Config, request: &JobRequest, folder: RunFolder) -> Result<OpenedRun, Failure> {
    let planned = planned(config)?;
    let earlier = folder.earlier();
    let (name, from) = (folder.name(), earlier.as_ref().and_then(|name| RunFolder::at(&config.work_dir.join(name))));
    let foreign = earlier.as_ref().and_then(|name| RunFolder::foreign(&config.work_dir, name));
    let kept = match (from, foreign) {
        (Some(from), _) => {
            let run = earlier_run(config, &from, &read_plan(&from)?).await?;
            Some(kept(from, run, &planned)?)
        }
        (None, Some(from)) => {
            let results = adopted(&from, &planned, request)?;
            Some(EarlierResults { from, carried: CarriedOver { results, ..CarriedOver::default() } })
        }
        (None, None) => None,
    };
    let missing = earlier.filter(|_| kept.is_none());
    let opened = begin(config, request, Some(folder), &planned, kept).await?;
    print_status(format!("the plan of {name} was not whole when its master was stopped: it was made again"));
    if let Some(missing) = missing {
        report(Diagnostic::note(format!("nothing is kept of {missing}, which is not there any more")));
    }
    Ok(opened)
}

fn planned(config: &Config) -> Result<Planned, Failure> {
    block_in_place(|| compass_planning::plan(config)).map_err(|error| Failure::of_plan(&error))
}

/// Reads the plan of a folder on a thread that nothing else waits for.
pub(super) fn read_plan(folder: &RunFolder) -> Result<ReadPlan, Failure> {
    let read = block_in_place(|| compass_run_folder::read_plan(folder));
    let (plan, digest, files) = read.map_err(|error| Failure::of_plan(&error))?;
    Ok(ReadPlan { plan: Arc::new(plan), digest, files })
}

/// Reads what a run has recorded.
async fn earlier_run(config: &Config, from: &RunFolder, read: &ReadPlan) -> Result<EarlierRun, Failure> {
    let recorded = compass_run::recorded_lengths(config, from, read.digest, None).await;
    let recorded = recorded.map_err(|error| Failure::of_store(&error))?;
    let plan = read.plan.as_ref().clone();
    let run = block_in_place(|| EarlierRun::read(from, plan, read.digest, &recorded));
    run.map_err(|error| Failure::of(exit::BAD_INPUT, &error))
}

/// Returns the results of the run in `from` that answer the new plan; results that do not count are named on the screen.
fn kept(from: RunFolder, run: EarlierRun, planned: &Planned) -> Result<EarlierResults, Failure> {
    run.damage().iter().for_each(|what| report(Diagnostic::warning(what.clone())));
    for line in run.left_behind(&planned.plan) {
        print_status(line);
    }
    let mut carried = block_in_place(|| run.answers(planned)).map_err(|error| Failure::of(exit::BAD_INPUT, &error))?;
    std::mem::take(&mut carried.notes).into_iter().for_each(|note| report(Diagnostic::note(note)));
    Ok(EarlierResults { from, carried })
}

/// The samples of a plan that are not run again where the run called `name` is resumed with it. Nothing is begun.
///
/// # Errors
/// There is no such run with a plan, it cannot be read, or a store fails.
pub async fn kept_of(config: &Config, name: &str, planned: &Planned) -> Result<Recorded, Failure> {
    if RunFolder::foreign(&config.work_dir, name).is_some() {
        let foreign = format!("--estimate counts nothing of {name}: another evaluator wrote its predictions");
        return Err(Failure::bad_input(Diagnostic::error(foreign).with_help("leave -r out to estimate the whole job")));
    }
    let folder = RunFolder::find(&config.work_dir, Some(name)).map_err(|error| Failure::of_folder(&error))?;
    let read = read_plan(&folder)?;
    if read.digest == Digest::of(&planned.head) {
        let lengths = compass_run::recorded_lengths(config, &folder, read.digest, None).await;
        let lengths = lengths.map_err(|error| Failure::of_store(&error))?;
        let recorded = block_in_place(|| compass_planning::recorded(&folder, read.digest, &lengths));
        return recorded.map_err(|error| Failure::of(exit::BAD_INPUT, &error));
    }
    let run = earlier_run(config, &folder, &read).await?;
    let mut recorded = Recorded::default();
    for (unit, result) in kept(folder, run, planned)?.carried.results {
        recorded.arrive(unit, result.index, &[], DeviceType::Unknown);
    }
    Ok(recorded)
}

/// The folder of a run of the job of this plan that another master leads, where masters share a store.
///
/// # Errors
/// The store fails, or that folder is not to be seen from here.
pub async fn led_elsewhere(config: &Config, plan: &Digest) -> Result<Option<RunFolder>, Failure> {
    let found = compass_run::running_elsewhere(config, plan).await;
    let Some((holder, path)) = found.map_err(|error| Failure::of_store(&error))? else { return Ok(None) };
    match RunFolder::at(&path) {
        Some(folder) => Ok(Some(folder)),
        None => Err(Failure::bad_input(Diagnostic::error(format!(
            "{holder} works on this very job in {}, which this host does not see; masters of one job share its \
             work_dir",
            path.display()
        )))),
    }
}

/// Takes over the predictions of another evaluator: in the folder where they lie, or, where some are to be run beside them,
/// in a new one.
async fn adopt(folder: RunFolder, config: &Config, request: &JobRequest) -> Result<OpenedRun, Failure> {
    let planned = planned(config)?;
    let results = adopted(&folder, &planned, request)?;
    let (taken, expected) = (results.len(), planned.plan.expected());
    if request.infers() && (taken as u64) < expected {
        let carried = CarriedOver { results, ..CarriedOver::default() };
        let kept = EarlierResults { from: folder.clone(), carried };
        let opened = begin(config, request, None, &planned, Some(kept)).await?;
        print_status(format!(
            "took over the predictions of {taken} of {expected} samples in {}; the others are run, in {}",
            folder.shown(),
            opened.folder.shown()
        ));
        return Ok(opened);
    }
    folder.furnish().and_then(|()| folder.mark_adopted()).map_err(|error| Failure::of_folder(&error))?;
    let digest = Digest::of(&planned.head);
    compass_planning::import_adopted(&folder, digest, &results)
        .map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
    compass_run_folder::write_plan(&folder, &planned).map_err(|error| Failure::of_plan(&error))?;
    print_status(format!("took over the predictions of {taken} of {expected} samples in {}", folder.shown()));
    Ok(folder.into())
}

/// Returns the results of a plan that another evaluator's folder holds, and reports what there is to know of it.
fn adopted(
    folder: &RunFolder,
    planned: &Planned,
    request: &JobRequest,
) -> Result<Vec<(UnitId, SampleResult)>, Failure> {
    let gaps = if request.infers() { Gaps::Run } else { Gaps::Refused };
    let adopted = block_in_place(|| compass_planning::adopt(folder, planned, gaps));
    let adopted = adopted.map_err(|faults| Failure::of_plan(&PlanError::Data(faults)))?;
    if !adopted.without.is_empty() {
        report(Diagnostic::note(format!("no predictions of {}", adopted.without.join(", "))));
    }
    for note in adopted.notes {
        report(Diagnostic::note(note));
    }
    Ok(adopted.results)
}

/// A run folder with its plan: `folder`, or a new one. What is `kept` comes first, the plan's head last: a folder without
/// one was never begun.
async fn begin(
    config: &Config,
    request: &JobRequest,
    folder: Option<RunFolder>,
    planned: &Planned,
    kept: Option<EarlierResults>,
) -> Result<OpenedRun, Failure> {
    let infrastructure = |error: &(dyn std::error::Error + 'static)| Failure::of(exit::INFRASTRUCTURE, error);
    if request.infers() && !request.served {
        // That no worker can be launched is said before anything is written.
        compass_run::check_launcher(config).await.map_err(|error| Failure::of_launchers(&error))?;
    }
    // The state first: where it cannot be kept, no run folder is left behind.
    for (key, folder) in [("state_dir", &config.state_dir), ("work_dir", &config.work_dir)] {
        compass_run_folder::check_writable(key, folder).map_err(|error| Failure::of_folder(&error))?;
    }
    let stamp = jiff::Zoned::now().strftime("%Y%m%d_%H%M%S").to_string();
    let made = match folder {
        Some(folder) => Ok(folder),
        None => RunFolder::create(&config.work_dir, &stamp),
    };
    let folder = made.map_err(|error| infrastructure(&error))?;
    // A master that resumes it meanwhile would take it for an abandoned one.
    let owner = compass_run::claim_for_planning(&folder).await.map_err(|error| infrastructure(&error))?;
    // Unless another master has planned it since it was found.
    let ours = RunFolder::at(folder.root()).is_none();
    if ours {
        folder.clear().map_err(|error| Failure::of_folder(&error))?;
        let digest = Digest::of(&planned.head);
        if let Some(EarlierResults { from, carried }) = &kept {
            folder.keep_earlier(from).map_err(|error| Failure::of_folder(&error))?;
            let imported = block_in_place(|| compass_planning::import(&folder, digest, &from.name(), carried));
            imported.map_err(|error| infrastructure(&error))?;
        }
        let written = block_in_place(|| compass_run_folder::write_plan(&folder, planned));
        written.map_err(|error| Failure::of_plan(&error))?;
        compass_run_folder::keep_config(&folder, config, &stamp).map_err(|error| Failure::of_folder(&error))?;
        if let Some(written) = &request.written {
            compass_run_folder::keep_written(&folder, written).map_err(|error| Failure::of_folder(&error))?;
            if let Err(why) = &written.resolved {
                let note = Diagnostic::note(format!("configs/ has no resolved.toml: {why}"));
                report(note.with_help("the original files are in configs/original"));
            }
        }
    }
    drop(owner);
    let plan = ours.then(|| planned.in_folder(&folder));
    Ok(OpenedRun { folder, earlier: kept.map(|kept| kept.from), plan })
}
