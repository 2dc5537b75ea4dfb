//! From the configuration to the plan: reads the data, renders every prompt, draws every shot, pins every choice.
//!
//! Written once, parts first, the head last: a plan is there when `plan/job.json` is.

use super::carry_over::EarlierRun;
use super::dataset_plan::{plan_dataset, recorded_dataset};
use super::folder::{FolderError, RunFolder, write_atomically};
use super::pins::{pin, pin_elsewhere};
use super::plan_parts::PlanFiles;
use super::progress::PlanBar;
use super::rows::Faults;
use crate::descriptors::is_exhaustion;
use compass_common::encode::{self, EncodeError};
use compass_common::regular_file;
use compass_config::{Config, DatasetConfig, ModelConfig};
use compass_diagnostic::Diagnostic;
use compass_plan::prompt::MetaTemplate;
use compass_plan::{
    DeviceRequest, Dtype, DuplicateGroups, Endpoint, ModelPlan, PLAN_FORMAT, Part, PartRef, Plan, Unit, found_part,
    head_path, part_path, read_plan_file,
};
use compass_types::ids::{Digest, UnitId};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Everything that is wrong with the data.
    #[error("{}", messages(.0))]
    Data(Vec<Diagnostic>),
    /// The host lacks what reading takes, whatever is in the files.
    #[error("cannot read {path}")]
    Host {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// As [`PlanError::Data`], where some file could not be opened for lack of file descriptors.
    #[error("{}", messages(.0))]
    DataWithoutDescriptors(Vec<Diagnostic>),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Encode(#[from] EncodeError),
    #[error("cannot compress a part of the plan")]
    Compress(#[source] std::io::Error),
    #[error(
        "cannot read the plan {path}: {reason}; restore the file from a copy of the run, or start a fresh run (leave -r out)"
    )]
    Damaged { path: PathBuf, reason: String },
    #[error(
        "the run {run} was planned by format {found}, this master reads format {PLAN_FORMAT}; resume it with the version that began it"
    )]
    Format { run: String, found: u32 },
}

fn messages(faults: &[Diagnostic]) -> String {
    faults.iter().map(|fault| fault.message.as_str()).collect::<Vec<_>>().join("\n")
}

impl PlanError {
    /// A file of the plan that cannot be read.
    pub fn unreadable(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        match is_exhaustion(&source) {
            true => Self::Host { path, source },
            false => Self::Damaged { path, reason: source.to_string() },
        }
    }
}

/// A plan in memory with the bytes of its files.
#[derive(Debug)]
pub struct Planned {
    pub plan: Plan,
    /// The bytes of `plan/job.json`; their digest is the job.
    pub head: Vec<u8>,
    pub parts: PlanFiles,
    /// What the file says that [`Plan::duplicates`] names.
    pub duplicates: DuplicateGroups,
}

/// The bytes of `plan/job.json`.
fn head(plan: &Plan) -> Result<Vec<u8>, PlanError> {
    Ok(encode::pretty_json("the plan", plan)?)
}

/// A plan in a run folder, as it was read or written.
#[derive(Clone, Debug)]
pub struct ReadPlan {
    pub plan: Arc<Plan>,
    /// The job.
    pub digest: Digest,
    /// Where every file of it lies, for workers to fetch.
    pub files: BTreeMap<Digest, PathBuf>,
}

impl Planned {
    /// The plan as it lies in `folder`, where [`write_plan`] has put it.
    pub fn in_folder(&self, folder: &RunFolder) -> ReadPlan {
        let digest = Digest::of(&self.head);
        let parts = self.parts.names().map(|part| (*part, part_path(folder.root(), part)));
        let files = parts.chain([(digest, head_path(folder.root()))]).collect();
        ReadPlan { plan: Arc::new(self.plan.clone()), digest, files }
    }
}

/// Reads and renders everything that the configuration names.
///
/// # Errors
/// Every fault of every data set, at once.
pub fn plan(config: &Config) -> Result<Planned, PlanError> {
    plan_beside(config, None)
}

/// As [`plan`], to score the results of a run: its models are pinned as they were, and what is not there any more is as that
/// run planned it.
///
/// # Errors
/// As for [`plan`]; a data set that is not there and whose prompts are not those of the run.
pub fn plan_scores(config: &Config, run: &EarlierRun) -> Result<Planned, PlanError> {
    plan_beside(config, Some(run))
}

fn plan_beside(config: &Config, run: Option<&EarlierRun>) -> Result<Planned, PlanError> {
    let mut parts = PlanFiles::default();
    let mut errors = Faults::default();
    let (mut datasets, mut requests) = (Vec::new(), Vec::new());
    let mut bar = PlanBar::new((config.datasets.len() + config.models.len() + 1) as u64);
    for dataset in &config.datasets {
        bar.begin(&format!("data set {}", dataset.abbr));
        let planned = match (&dataset.absent, run) {
            (None, _) => plan_dataset(dataset, &mut parts),
            (Some(absent), run) => recorded_dataset(dataset, absent, run, &mut parts),
        };
        match planned {
            Ok((planned, asked)) => {
                bar.end(planned.samples.into());
                datasets.push(planned);
                requests.push(asked);
            }
            Err(faults) => errors.add(faults),
        }
    }
    errors.found.extend(misfits(config));
    errors.found.extend(endpoint_misfits(config));
    errors.none()?;
    let models = config.models.iter().map(|model| {
        bar.begin(&format!("weights of {}", model.abbr));
        let planned = pin_model(config, model);
        bar.end(0);
        run.map_or(planned.clone(), |run| run.as_before(planned, model.absent.is_some()))
    });
    let models = models.collect();
    bar.begin("samples that ask the same");
    let duplicates = DuplicateGroups::find(requests.iter().map(Vec::as_slice));
    let mut named = None;
    if !duplicates.is_empty() {
        let bytes = encode::json("the samples that ask the same", &duplicates)?;
        named = Some(parts.add(&bytes)?);
    }
    let digest = compass_config::digest(config);
    let mut plan =
        Plan { format: PLAN_FORMAT, config: digest, models, datasets, duplicates: named, left_out: BTreeSet::new() };
    plan.left_out = left_out(config, &plan);
    let head = head(&plan)?;
    bar.end(0);
    Ok(Planned { plan, head, parts, duplicates })
}

/// The units of the pairs that the configuration leaves out.
fn left_out(config: &Config, plan: &Plan) -> BTreeSet<UnitId> {
    let is_left_out = |unit: &Unit<'_>| {
        config.not_combined.iter().any(|(model, dataset)| *model == unit.model.abbr && *dataset == unit.dataset.abbr)
    };
    plan.units().filter(is_left_out).map(|unit| unit.id).collect()
}

/// Whether the model runs the data set.
fn is_asked(config: &Config, model: &ModelConfig, dataset: &DatasetConfig) -> bool {
    config.not_combined.iter().all(|(left, data)| *left != model.abbr || *data != dataset.abbr)
}

/// Kinds of requests that a model's endpoint cannot run.
fn endpoint_misfits(config: &Config) -> Vec<Diagnostic> {
    let endpoints = config.models.iter().filter_map(|model| Some((model, model.endpoint.as_ref()?)));
    let pairs = endpoints.flat_map(|(model, endpoint)| {
        let asked = config.datasets.iter().filter(move |dataset| is_asked(config, model, dataset));
        asked.filter_map(move |dataset| Some((model, dataset, endpoint.misfit(&dataset.infer)?)))
    });
    pairs
        .map(|(model, dataset, why)| {
            let mode = dataset.infer.mode();
            let text = format!("model `{}` cannot run data set `{}` (`{mode}`): {why}", model.abbr, dataset.abbr);
            Diagnostic::error(text)
        })
        .collect()
}

/// Roles that a data set's templates name and a model's meta template does not know.
fn misfits(config: &Config) -> Vec<Diagnostic> {
    let meta = |model: &ModelConfig| model.meta_template.clone().or_else(|| model.chat.then(MetaTemplate::chat));
    let with_meta: Vec<_> = config.models.iter().filter_map(|model| Some((model, meta(model)?))).collect();
    let pairs =
        with_meta.iter().flat_map(|(model, meta)| config.datasets.iter().map(move |dataset| (model, meta, dataset)));
    pairs
        .filter(|(model, _, dataset)| is_asked(config, model, dataset))
        .filter_map(|(model, meta, dataset)| {
            let fault = meta.misfit(&dataset.prompt)?;
            let message = format!("model `{}` cannot read data set `{}`: {fault}", model.abbr, dataset.abbr);
            Some(Diagnostic::error(message))
        })
        .collect()
}

/// dtype `auto`: on the CPU float32, what the scores are checked in; on GPUs the checkpoint's own. Decided by what is
/// configured, never by the hardware that happens to run a sample.
fn dtype(model: &ModelConfig) -> Dtype {
    let on_gpu = match model.device {
        DeviceRequest::Cuda => true,
        DeviceRequest::Auto => model.num_gpus > 0,
        DeviceRequest::Cpu => false,
    };
    let own = || {
        let directory = model.remote.as_ref().map_or(&model.path, |remote| &remote.path);
        let config: Value =
            serde_json::from_slice(&regular_file::read(&directory.join("config.json"), regular_file::SMALL).ok()?)
                .ok()?;
        match config.get("torch_dtype").or_else(|| config.get("dtype"))?.as_str()? {
            "bfloat16" => Some(Dtype::Bfloat16),
            "float16" => Some(Dtype::Float16),
            _ => None,
        }
    };
    model.dtype.or_else(|| own().filter(|_| on_gpu)).unwrap_or(Dtype::Float32)
}

fn pin_model(config: &Config, model: &ModelConfig) -> ModelPlan {
    let scores = config.datasets.iter().any(|dataset| is_asked(config, model, dataset) && dataset.infer.scores());
    let plan = ModelPlan {
        abbr: model.abbr.clone(),
        kind: model.kind,
        path: model.path.display().to_string(),
        tokenizer_path: model.tokenizer_path.display().to_string(),
        peft_path: model.peft_path.as_ref().map(|path| path.display().to_string()),
        max_seq_len: model.max_seq_len,
        max_out_len: model.max_out_len,
        dtype: dtype(model),
        bos: model.bos,
        profile: model.profile,
        meta_template: model.meta_template.clone(),
        chat: model.chat,
        system: model.system,
        tokenizer_kwargs: model.tokenizer_kwargs.clone(),
        truncation: model.truncation.clone(),
        sums_loglikelihood: model.sums_loglikelihood,
        min_out_len: model.min_out_len,
        decoding: model.decoding.clone(),
        stop_words: model.stop_words.clone(),
        num_gpus: model.num_gpus,
        device: model.device,
        deterministic: model.deterministic,
        pred_postprocessors: model.pred_postprocessors.clone(),
        pin: None,
        endpoint: model.endpoint.clone().map(|endpoint| Endpoint { scores, ..endpoint }),
    };
    let adapter = model.fetched_adapter.as_deref().or(model.peft_path.as_deref());
    let pin = match &model.remote {
        Some(remote) => pin_elsewhere(&plan, remote, adapter),
        None => pin(&plan, adapter),
    };
    ModelPlan { pin, ..plan }
}

/// Writes the plan into a run folder; returns the job's digest.
///
/// # Errors
/// Those of the disk.
pub fn write_plan(folder: &RunFolder, planned: &Planned) -> Result<Digest, PlanError> {
    for (digest, packed) in planned.parts.packed() {
        write_atomically(&part_path(folder.root(), digest), packed)?;
    }
    write_atomically(&head_path(folder.root()), &planned.head)?;
    Ok(Digest::of(&planned.head))
}

/// Reads the plan of a run folder: the head, the job's digest, and where every file of it lies.
///
/// # Errors
/// A file is missing or damaged, or the plan is of another format.
pub fn read_plan(folder: &RunFolder) -> Result<(Plan, Digest, BTreeMap<Digest, PathBuf>), PlanError> {
    let (plan, digest) = read_head(folder)?;
    let mut files = BTreeMap::from([(digest, head_path(folder.root()))]);
    let parts = plan.datasets.iter().flat_map(|dataset| &dataset.parts).map(|part| &part.digest);
    for part in parts.chain(&plan.duplicates) {
        // Read whole: workers would refuse a part that is not what its name says, and no worker could finish its samples.
        read_file(folder, part)?;
        files.insert(*part, found_part(folder.root(), part));
    }
    Ok((plan, digest, files))
}

/// Reads the head of a plan and its digest. Parts are checked when they are read.
///
/// # Errors
/// It is missing or damaged, or of another format.
pub(super) fn read_head(folder: &RunFolder) -> Result<(Plan, Digest), PlanError> {
    let path = head_path(folder.root());
    let damaged = |path: &PathBuf, reason: String| PlanError::Damaged { path: path.clone(), reason };
    let bytes = regular_file::read(&path, regular_file::LARGE).map_err(|error| PlanError::unreadable(&path, error))?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| damaged(&path, error.to_string()))?;
    let found = value.get("format").and_then(Value::as_u64).unwrap_or_default() as u32;
    if found != PLAN_FORMAT {
        return Err(PlanError::Format { run: folder.name(), found });
    }
    let plan: Plan = serde_json::from_value(value).map_err(|error| damaged(&path, error.to_string()))?;
    Ok((plan, Digest::of(&bytes)))
}

/// The digest of the plan of a run, which is its job's identity.
///
/// # Errors
/// There is no plan.
pub fn plan_digest(folder: &RunFolder) -> Result<Digest, PlanError> {
    let path = folder.plan().join("job.json");
    match regular_file::read(&path, regular_file::LARGE) {
        Ok(bytes) => Ok(Digest::of(&bytes)),
        Err(error) => Err(PlanError::unreadable(&path, error)),
    }
}

/// Reads one part back, checked against its name.
///
/// # Errors
/// The file is missing or damaged.
pub(super) fn read_part(folder: &RunFolder, part: &PartRef) -> Result<Part, PlanError> {
    parse(folder, &part.digest)
}

/// Checks one part against its name.
///
/// # Errors
/// The file is missing or damaged.
pub(super) fn check_part(folder: &RunFolder, part: &PartRef) -> Result<(), PlanError> {
    read_file(folder, &part.digest).map(|_| ())
}

/// Reads which samples of a plan ask the same.
///
/// # Errors
/// The file is missing or damaged.
pub(super) fn read_duplicates(folder: &RunFolder, plan: &Plan) -> Result<DuplicateGroups, PlanError> {
    plan.duplicates.map_or(Ok(DuplicateGroups::default()), |digest| parse(folder, &digest))
}

fn parse<T: DeserializeOwned>(folder: &RunFolder, digest: &Digest) -> Result<T, PlanError> {
    let bytes = read_file(folder, digest)?;
    let path = part_path(folder.root(), digest);
    serde_json::from_slice(&bytes).map_err(|error| PlanError::Damaged { path, reason: error.to_string() })
}

/// The content of a file that is named by it.
pub(super) fn read_file(folder: &RunFolder, digest: &Digest) -> Result<Vec<u8>, PlanError> {
    let path = found_part(folder.root(), digest);
    read_plan_file(&path, digest).map_err(|error| PlanError::unreadable(&path, error))
}
