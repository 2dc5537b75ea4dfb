//! Brings a model that is elsewhere onto this node before it is loaded.

use compass_common::backoff;
use compass_plan::engine::EngineFault;
use compass_plan::{ModelKind, ModelPlan};
use compass_storage::{Fetched, Location, Progress, ProgressLog, Storage, StorageArguments, StorageFault};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a store that does not answer is asked again before the worker says that it cannot load the model.
const RETRY_FOR: Duration = Duration::from_secs(10 * 60);

/// A model whose files are on this node.
pub(super) struct FetchedModel {
    /// The plan, with the directories on this node.
    pub(super) plan: ModelPlan,
    /// Directories on this node, and the places that they stand for.
    places: Vec<(String, String)>,
    /// Keeps the files there.
    _held: Vec<Fetched>,
}

impl FetchedModel {
    /// A fault with the names of places in place of directories of the cache.
    pub(super) fn named(&self, fault: EngineFault) -> EngineFault {
        let named = |text: String| self.places.iter().fold(text, |text, (here, place)| text.replace(here, place));
        match fault {
            EngineFault::Missing(text) => EngineFault::Missing(named(text)),
            EngineFault::Model(text) => EngineFault::Model(named(text)),
            EngineFault::Device(text) => EngineFault::Device(named(text)),
            EngineFault::Lost(text) => EngineFault::Lost(named(text)),
        }
    }
}

/// Fetches what of `plan` is elsewhere; the rest stays as it is.
///
/// # Errors
/// [`EngineFault::Missing`]: this host cannot have the files, another one may.
pub(super) fn fetch(plan: &ModelPlan, arguments: &StorageArguments) -> Result<FetchedModel, EngineFault> {
    let mut fetched = FetchedModel { plan: plan.clone(), places: Vec::new(), _held: Vec::new() };
    if matches!(plan.kind, ModelKind::Echo | ModelKind::Sandbox) {
        return Ok(fetched);
    }
    let storage = Storage::new(arguments.options());
    if let Some(location) = location(&plan.path)? {
        let mut said = log(&location);
        let files = patiently(|| storage.model_files(&location, plan.kind, &mut said))?;
        fetched.plan.path = fetched.hold(&location, files);
    }
    if plan.tokenizer_path == plan.path {
        fetched.plan.tokenizer_path.clone_from(&fetched.plan.path);
    } else if let Some(location) = location(&plan.tokenizer_path)? {
        let mut said = log(&location);
        let files = patiently(|| storage.tokenizer_files(&location, &mut said))?;
        fetched.plan.tokenizer_path = fetched.hold(&location, files);
    }
    Ok(fetched)
}

impl FetchedModel {
    fn hold(&mut self, location: &Location, files: Fetched) -> String {
        let here = files.folder().display().to_string();
        self.places.push((here.clone(), location.to_string()));
        self._held.push(files);
        here
    }
}

/// The place that a path of the plan names; `None` where it is a directory on this host.
fn location(path: &str) -> Result<Option<Location>, EngineFault> {
    if Path::new(path).is_dir() {
        return Ok(None);
    }
    Location::parse(path).transpose().map_err(EngineFault::Model)
}

fn log(location: &Location) -> impl FnMut(Progress) + use<> {
    let mut log = ProgressLog::new(location.to_string());
    move |progress| {
        if let Some(line) = log.line(&progress) {
            tracing::info!("{line}");
        }
    }
}

/// Tries again while the store does not answer as it should.
fn patiently<T>(mut once: impl FnMut() -> Result<T, StorageFault>) -> Result<T, EngineFault> {
    let began = Instant::now();
    let mut waits = backoff::policy(Duration::from_secs(1), Duration::from_secs(60));
    loop {
        match once() {
            Ok(done) => return Ok(done),
            Err(fault) if fault.may_be_retried() && began.elapsed() < RETRY_FOR => {
                tracing::warn!(fault = %fault, "cannot fetch the model; trying again");
                std::thread::sleep(waits.next().unwrap_or_default());
            }
            Err(fault) => return Err(EngineFault::Missing(fault.with_help())),
        }
    }
}
