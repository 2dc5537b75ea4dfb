//! The run that a job works on: an old one, a new one, or one that another evaluator left.

use super::failure::Failure;
use super::request::JobRequest;
use crate::cli::exit;
use crate::pipeline::{self, PlanError, Planned, RunFolder};
use crate::screen::say;
use compass_common::config::{self, Config};
use compass_common::ids::Digest;

/// Where a job works.
#[derive(Clone, Debug)]
pub struct OpenedRun {
    pub folder: RunFolder,
    /// Another run, of which this one took over what is the same.
    pub earlier: Option<RunFolder>,
}

impl From<RunFolder> for OpenedRun {
    fn from(folder: RunFolder) -> Self {
        Self { folder, earlier: None }
    }
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
    let Some(name) = &request.reuse else {
        let planned = pipeline::plan(config).map_err(|error| Failure::of_plan(&error))?;
        return match running(&Digest::of(&planned.head)).await? {
            Some(folder) => Ok(folder.into()),
            None => new_run(config, request, &planned).await.map(OpenedRun::from),
        };
    };
    if let Some(folder) = RunFolder::foreign(&config.work_dir, name) {
        return adopt(&folder, config).map(|()| folder.into());
    }
    let folder = RunFolder::find(&config.work_dir, Some(name));
    let folder = folder.map_err(|error| Failure::of_folder(&error))?;
    let (plan, digest, _) = pipeline::read_plan(&folder).map_err(|error| Failure::of_plan(&error))?;
    if plan.config == config::digest(config) {
        return Ok(folder.into());
    }
    // Another configuration: what it asks for again is kept, the rest is run.
    let planned = pipeline::plan(config).map_err(|error| Failure::of_plan(&error))?;
    let recorded = pipeline::recorded_lengths(config, &folder, digest, None).await;
    let recorded = recorded.map_err(|error| Failure::of_store(&error))?;
    let kept = pipeline::carry_over(&folder, &plan, digest, &recorded, &planned);
    let kept = kept.map_err(|error| Failure::of(exit::BAD_INPUT, &error))?;
    let new = new_run(config, request, &planned).await?;
    pipeline::import(&new, Digest::of(&planned.head), &folder.name(), &kept)
        .map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
    let (kept, expected) = (kept.len(), planned.plan.expected());
    say(format!(
        "the configuration is not that of {}: {kept} of {expected} samples are the same and kept, in {}",
        folder.name(),
        new.shown()
    ));
    Ok(OpenedRun { folder: new, earlier: Some(folder) })
}

/// The folder of a run of the job of this plan that another master leads, where masters share a store.
///
/// # Errors
/// The store fails, or that folder is not to be seen from here.
pub async fn led_elsewhere(config: &Config, plan: &Digest) -> Result<Option<RunFolder>, Failure> {
    let found = pipeline::running_elsewhere(config, plan).await;
    let Some((holder, path)) = found.map_err(|error| Failure::of_store(&error))? else { return Ok(None) };
    match RunFolder::at(&path) {
        Some(folder) => Ok(Some(folder)),
        None => Err(Failure::bad_input(format!(
            "error: {holder} works on this very job in {}, which this host does not see; masters of one job share its \
             work_dir",
            path.display()
        ))),
    }
}

/// Takes over the predictions of another evaluator, in the folder where they lie.
fn adopt(folder: &RunFolder, config: &Config) -> Result<(), Failure> {
    let planned = pipeline::plan(config).map_err(|error| Failure::of_plan(&error))?;
    let adopted = pipeline::adopt(folder, &planned).map_err(|faults| Failure::of_plan(&PlanError::Data(faults)))?;
    folder.furnish().map_err(|error| Failure::of_folder(&error))?;
    let digest = Digest::of(&planned.head);
    pipeline::import_adopted(folder, digest, &adopted.results)
        .map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
    pipeline::write_plan(folder, &planned).map_err(|error| Failure::of_plan(&error))?;
    let (taken, expected) = (adopted.results.len(), planned.plan.expected());
    say(format!("took over the predictions of {taken} of {expected} samples in {}", folder.shown()));
    if !adopted.without.is_empty() {
        say(format!("note: no predictions of {}", adopted.without.join(", ")));
    }
    Ok(())
}

/// A run folder with its plan.
async fn new_run(config: &Config, request: &JobRequest, planned: &Planned) -> Result<RunFolder, Failure> {
    if request.infers() && !request.served {
        // Whoever cannot launch a worker should hear it before anything is written.
        pipeline::check_launcher(config).await.map_err(|error| Failure::of_launchers(&error))?;
    }
    // The state first: where it cannot be kept, no run folder is left behind.
    for (key, folder) in [("state_dir", &config.state_dir), ("work_dir", &config.work_dir)] {
        pipeline::check_writable(key, folder).map_err(|error| Failure::of_folder(&error))?;
    }
    let stamp = jiff::Zoned::now().strftime("%Y%m%d_%H%M%S").to_string();
    let folder = RunFolder::create(&config.work_dir, &stamp);
    let folder = folder.map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
    pipeline::write_plan(&folder, planned).map_err(|error| Failure::of_plan(&error))?;
    pipeline::keep_config(&folder, config, &stamp).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
    Ok(folder)
}
