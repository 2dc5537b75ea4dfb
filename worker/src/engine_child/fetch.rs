//! Brings a model that is elsewhere onto this node before it is loaded.

use compass_common::backoff;
use compass_plan::engine::EngineFault;
use compass_plan::{ModelKind, ModelPlan};
use compass_storage::{Fetched, Location, Progress, ProgressLog, Storage, StorageArguments, StorageFault};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time for which requests to a store that stops answering are repeated before the worker reports that it cannot load the model.
const RETRY_FOR: Duration = Duration::from_secs(10 * 60);

/// The same for a store that has not answered once: its address may be wrong, and another worker may reach it.
const RETRY_UNREACHED_FOR: Duration = Duration::from_secs(90);

/// Callback that gets the reason why nothing can be fetched yet, before every pause.
type Waits<'w> = dyn Fn(String) + 'w;

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
            EngineFault::Refused(text) => EngineFault::Refused(named(text)),
        }
    }
}

/// Fetches the files of `plan` that are elsewhere; the rest stays as it is.
///
/// # Errors
/// [`EngineFault::Missing`]: this host cannot have the files, another one may.
pub(super) fn fetch(
    plan: &ModelPlan,
    arguments: &StorageArguments,
    waits: &Waits<'_>,
) -> Result<FetchedModel, EngineFault> {
    let mut fetched = FetchedModel { plan: plan.clone(), places: Vec::new(), _held: Vec::new() };
    if matches!(plan.kind, ModelKind::Echo | ModelKind::Sandbox) {
        return Ok(fetched);
    }
    let storage = Storage::new(arguments.options());
    let has_weights = plan.kind != ModelKind::Endpoint;
    if let Some(location) = location(&plan.path)?.filter(|_| has_weights) {
        let files = patiently(&location, waits, |said| storage.model_files(&location, plan.kind, said))?;
        fetched.plan.path = fetched.hold(&location, files);
    }
    if plan.tokenizer_path == plan.path {
        fetched.plan.tokenizer_path.clone_from(&fetched.plan.path);
    } else if let Some(location) = location(&plan.tokenizer_path)? {
        let files = patiently(&location, waits, |said| storage.tokenizer_files(&location, said))?;
        fetched.plan.tokenizer_path = fetched.hold(&location, files);
    }
    if let Some(adapter) = &plan.peft_path
        && let Some(location) = location(adapter)?
    {
        let (_, files) = patiently(&location, waits, |said| storage.adapter_files(&location, said))?;
        fetched.plan.peft_path = Some(fetched.hold(&location, files));
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

/// Tries again while the store does not answer as it should.
fn patiently<T>(
    location: &Location,
    waits: &Waits<'_>,
    mut once: impl FnMut(&mut dyn FnMut(Progress)) -> Result<T, StorageFault>,
) -> Result<T, EngineFault> {
    let (began, mut is_reached) = (Instant::now(), false);
    let mut pauses = backoff::policy(Duration::from_secs(1), Duration::from_secs(60));
    let mut log = ProgressLog::new(location.to_string());
    loop {
        let tried = once(&mut |progress| {
            // The rest is known: the store has listed it. Or another process of the node is being served.
            is_reached = true;
            if let Some(line) = log.line(&progress) {
                tracing::info!("{line}");
            }
        });
        let retry_for = if is_reached { RETRY_FOR } else { RETRY_UNREACHED_FOR };
        match tried {
            Ok(done) => return Ok(done),
            Err(fault) if fault.may_be_retried() && began.elapsed() < retry_for => {
                tracing::warn!(fault = %fault, "cannot fetch the model; trying again");
                waits(fault.with_help());
                std::thread::sleep(pauses.next().unwrap_or_default());
            }
            Err(fault) if fault.may_be_retried() => {
                let tried_for = format!(" (tried for {} s)", began.elapsed().as_secs());
                return Err(EngineFault::Missing(fault.message.clone() + &tried_for + "; help: " + &fault.help));
            }
            Err(fault) => return Err(EngineFault::Missing(fault.with_help())),
        }
    }
}
