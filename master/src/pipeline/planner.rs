//! From the configuration to the plan: reads the data, renders every prompt, draws every shot, pins every choice.
//!
//! Written once, parts first, the head last: a plan is there when `plan/job.json` is.

use super::carry_over::EarlierRun;
use super::folder::{FolderError, RunFolder, write_atomically};
use super::pins::{pin, pin_elsewhere};
use super::rows::{self, Faults, Rows};
use crate::descriptors::is_exhaustion;
use compass_common::encode::{self, EncodeError};
use compass_config::{Config, DatasetConfig, ModelConfig};
use compass_diagnostic::{Diagnostic, Diagnostics};
use compass_eval::report::{prediction_record, pretty};
use compass_plan::prompt::{MetaTemplate, RenderedDataset, Shot, render, workload};
use compass_plan::{
    Body, DatasetPlan, DeviceRequest, Dtype, DuplicateGroups, Endpoint, InferSpec, ModelPlan, PLAN_FORMAT, Part,
    PartRef, Plan, Sample, Unit, entries_of_all, head_path, part_path,
};
use compass_types::ids::{Digest, UnitId};
use compass_types::result::{Outcome, PromptFit, SampleResult};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A part is closed when it holds so many samples ...
const PART_SAMPLES: usize = 256;
/// ... or about so many bytes.
const PART_BYTES: usize = 192 * 1024;

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
    pub parts: BTreeMap<Digest, Vec<u8>>,
    /// What the file says that [`Plan::duplicates`] names.
    pub duplicates: DuplicateGroups,
}

impl Planned {
    /// The same plan with its models pinned as in an earlier run: for work on the results of that run alone.
    ///
    /// # Errors
    /// The plan cannot be written.
    pub fn as_before(mut self, earlier: &EarlierRun) -> Result<Self, PlanError> {
        earlier.keep_pins(&mut self.plan);
        self.head = head(&self.plan)?;
        Ok(self)
    }
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
        let parts = self.parts.keys().map(|part| (*part, part_path(folder.root(), part)));
        let files = parts.chain([(digest, head_path(folder.root()))]).collect();
        ReadPlan { plan: Arc::new(self.plan.clone()), digest, files }
    }
}

/// Reads and renders everything that the configuration names.
///
/// # Errors
/// Every fault of every data set, at once.
pub fn plan(config: &Config) -> Result<Planned, PlanError> {
    let mut parts = BTreeMap::new();
    let mut errors = Faults::default();
    let (mut datasets, mut requests) = (Vec::new(), Vec::new());
    for dataset in &config.datasets {
        match plan_dataset(dataset, &mut parts) {
            Ok((planned, asked)) => {
                datasets.push(planned);
                requests.push(asked);
            }
            Err(faults) => errors.add(faults),
        }
    }
    errors.found.extend(misfits(config));
    errors.found.extend(endpoint_misfits(config));
    errors.none()?;
    let models = config.models.iter().map(|model| pin_model(config, model)).collect();
    let duplicates = DuplicateGroups::find(requests.iter().map(Vec::as_slice));
    let mut named = None;
    if !duplicates.is_empty() {
        let bytes = encode::json("the samples that ask the same", &duplicates)?;
        let digest = Digest::of(&bytes);
        parts.insert(digest, bytes);
        named = Some(digest);
    }
    let digest = compass_config::digest(config);
    let mut plan =
        Plan { format: PLAN_FORMAT, config: digest, models, datasets, duplicates: named, left_out: BTreeSet::new() };
    plan.left_out = left_out(config, &plan);
    let head = head(&plan)?;
    Ok(Planned { plan, head, parts, duplicates })
}

/// The units of the pairs that the configuration leaves out.
fn left_out(config: &Config, plan: &Plan) -> BTreeSet<UnitId> {
    let is_left_out = |unit: &Unit<'_>| {
        config.not_combined.iter().any(|(model, dataset)| *model == unit.model.abbr && *dataset == unit.dataset.abbr)
    };
    plan.units().filter(is_left_out).map(|unit| unit.id).collect()
}

/// Digests of what the samples of a data set ask a model, in order: equal where every model answers alike.
fn requests(dataset: &DatasetConfig, rendered: &RenderedDataset) -> Result<Vec<Digest>, EncodeError> {
    let kind = Digest::of(&encode::json("what it asks", &(&dataset.infer, &rendered.format))?);
    let shots = rendered.shots.iter().map(|shot| Ok(Digest::of(&encode::json("a shot", shot)?)));
    let shots = shots.collect::<Result<Vec<_>, EncodeError>>()?;
    let request = |sample: &Sample| {
        let mut bytes = kind.0.to_vec();
        sample.shots.iter().filter_map(|&at| shots.get(at as usize)).for_each(|shot| bytes.extend(shot.0));
        bytes.extend(encode::json("a sample", &sample.body)?);
        Ok(Digest::of(&bytes))
    };
    rendered.samples.iter().map(request).collect()
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
        let config: Value = serde_json::from_slice(&std::fs::read(directory.join("config.json")).ok()?).ok()?;
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
        tokenizer_kwargs: model.tokenizer_kwargs.clone(),
        min_out_len: model.min_out_len,
        decoding: model.decoding.clone(),
        stop_words: model.stop_words.clone(),
        num_gpus: model.num_gpus,
        device: model.device,
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

/// A data set, and the digests of its requests.
type PlannedDataset = (DatasetPlan, Vec<Digest>);

fn plan_dataset(dataset: &DatasetConfig, parts: &mut BTreeMap<Digest, Vec<u8>>) -> Result<PlannedDataset, Faults> {
    let planned = render_dataset(dataset, parts);
    planned.map_err(|mut faults| {
        if let Some(last) = faults.found.last_mut() {
            let place = format!("data set `{}` names its rows at {}", dataset.abbr, dataset.test.origin);
            last.facts.push(("note".into(), place));
        }
        faults
    })
}

fn render_dataset(dataset: &DatasetConfig, parts: &mut BTreeMap<Digest, Vec<u8>>) -> Result<PlannedDataset, Faults> {
    let named = |fault: String| Diagnostic::error(format!("data set `{}`: {fault}", dataset.abbr));
    let test = Rows::read(&dataset.test, "test_range", &dataset.test_range);
    let train = dataset.train.as_ref();
    let train = train.map_or(Ok(Rows::default()), |train| Rows::read(train, "train_range", &dataset.train_range));
    let (test, train) = match (test, train) {
        (Ok(test), Ok(train)) => (test.limited(dataset.limit), train),
        (test, train) => {
            let mut faults = Faults::default();
            test.err().into_iter().chain(train.err()).for_each(|more| faults.add(more));
            let found = faults.found.into_iter().map(|fault| named(fault.message)).collect();
            return Err(Faults { found, ..faults });
        }
    };
    if let Some(fault) = test.nothing_to_ask() {
        return Err(vec![named(fault)].into());
    }
    let output = dataset.output_column.as_deref();
    let inputs = dataset.input_columns.iter().map(|column| ("input_columns", column.as_str()));
    let columns = inputs.chain(output.map(|column| ("output_column", column)));
    let unknown: Vec<Diagnostic> =
        columns.filter_map(|(key, column)| test.unknown_column(key, column)).map(named).collect();
    if !unknown.is_empty() {
        return Err(unknown.into());
    }
    let (test, train) = (test.numbered(&dataset.abbr), train.numbered(&dataset.abbr));
    let rendered = render(&dataset.prompt, &dataset.infer, output, &dataset.retriever, &test.rows, &train.rows);
    let rendered = rendered
        .map_err(|faults| faults.iter().map(|fault| named(rows::located(fault, &test, &train))).collect::<Vec<_>>())?;
    let mut rendered = rendered;
    add_program_columns(dataset, &mut rendered, &test)
        .map_err(|faults| faults.into_iter().map(named).collect::<Vec<_>>())?;
    let config = encode::json("its prompts", &(&dataset.prompt, &dataset.infer, &dataset.retriever));
    let config = config.map_err(|error| vec![named(Diagnostic::of(&error).message)])?;
    let of_prompts = || Digest::of(&config).to_string().chars().take(6).collect();
    let version = dataset.version.clone().unwrap_or_else(of_prompts);
    let labels = match rendered.samples.first().map(|sample| &sample.body) {
        Some(Body::Ppl { options }) if dataset.infer != InferSpec::PplOnly => Some(options.len() as u32),
        Some(Body::Loglikelihood { options, .. }) => Some(options.len() as u32),
        _ => None,
    };
    let work = workload(&rendered.samples, &rendered.shots, &rendered.format);
    let asked = requests(dataset, &rendered).map_err(|error| vec![named(Diagnostic::of(&error).message)])?;
    let planned = DatasetPlan {
        abbr: dataset.abbr.clone(),
        version,
        infer: dataset.infer.clone(),
        shot_format: rendered.format.clone(),
        eval: dataset.eval.clone(),
        samples: rendered.samples.len() as u32,
        characters: work.own_characters,
        prefix_runs: work.prefix_runs,
        labels,
        entries: entries_of_all(&dataset.infer, rendered.samples.iter().map(|sample| &sample.body)),
        parts: cut(&rendered, parts).map_err(|error| vec![named(Diagnostic::of(&error).message)])?,
    };
    Ok((planned, asked))
}

/// Puts what programs are made of into the gold answers, where the evaluator runs programs and needs more than the gold
/// column. Gold answers that are tables hold it already.
fn add_program_columns(
    dataset: &DatasetConfig,
    rendered: &mut RenderedDataset,
    test: &Rows,
) -> Result<(), Vec<String>> {
    let evaluator = &dataset.eval.evaluator;
    let columns = evaluator.program_columns();
    if columns.is_empty() {
        return Ok(());
    }
    let unknown: Vec<String> =
        columns.iter().filter_map(|column| test.unknown_column("its evaluator", column)).collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    for sample in rendered.samples.iter_mut().filter(|sample| !sample.gold.is_object()) {
        let Some(row) = test.rows.get(sample.index as usize) else { continue };
        let values = columns.iter().filter_map(|&column| Some((column, row.get(column)?.clone())));
        sample.gold = evaluator.gold_with(std::mem::take(&mut sample.gold), values);
    }
    Ok(())
}

/// The first sample of a data set as a person reads it: every prompt, and the gold answer.
pub(super) fn rendered_sample(mut dataset: DatasetConfig) -> Result<String, Diagnostics> {
    dataset.limit = Some(1);
    let mut parts = BTreeMap::new();
    let (planned, _) = plan_dataset(&dataset, &mut parts).map_err(|faults| Diagnostics::from(faults.found))?;
    let part = parts.into_values().next().and_then(|bytes| serde_json::from_slice::<Part>(&bytes).ok());
    let Some((part, sample)) = part.as_ref().and_then(|part| Some((part, part.samples.first()?))) else {
        return Err(Diagnostic::error("there is no sample").into());
    };
    let result = SampleResult {
        index: sample.index,
        fit: PromptFit { shots_kept: sample.shots.len() as u32, ..PromptFit::default() },
        outcome: Outcome::Failed { reason: String::new() },
    };
    let mut record = prediction_record(&planned, None, part, sample, &result);
    if let Some(record) = record.as_object_mut() {
        record.shift_remove("error");
    }
    let mut text = Vec::new();
    pretty(&mut text, &record).map_err(|error| Diagnostic::of(&error))?;
    Ok(String::from_utf8_lossy(&text).into_owned() + "\n")
}

/// Cuts the samples into parts; each part carries the shots that its samples name.
///
/// # Errors
/// A sample cannot be written down.
pub(super) fn cut(
    rendered: &RenderedDataset,
    parts: &mut BTreeMap<Digest, Vec<u8>>,
) -> Result<Vec<PartRef>, EncodeError> {
    let mut refs = Vec::new();
    let mut part = Part::default();
    let mut known: BTreeMap<u32, u32> = BTreeMap::new();
    let mut bytes = 0;
    for sample in &rendered.samples {
        let mut sample = sample.clone();
        for shot in &mut sample.shots {
            let next = part.shots.len() as u32;
            let at = *known.entry(*shot).or_insert(next);
            if at == next {
                let shown = rendered.shots.get(*shot as usize).cloned().unwrap_or_else(|| Shot::from(""));
                bytes += shown.bytes();
                part.shots.push(shown);
            }
            *shot = at;
        }
        bytes += encode::json("a sample", &sample)?.len();
        part.samples.push(sample);
        if part.samples.len() == PART_SAMPLES || bytes >= PART_BYTES {
            close(std::mem::take(&mut part), &mut refs, parts)?;
            known.clear();
            bytes = 0;
        }
    }
    close(part, &mut refs, parts)?;
    Ok(refs)
}

fn close(part: Part, refs: &mut Vec<PartRef>, parts: &mut BTreeMap<Digest, Vec<u8>>) -> Result<(), EncodeError> {
    let Some(first) = part.samples.first().map(|sample| sample.index) else { return Ok(()) };
    let json = encode::json("a part of the plan", &part)?;
    let digest = Digest::of(&json);
    refs.push(PartRef { digest, first, samples: part.samples.len() as u32, bytes: json.len() as u64 });
    parts.insert(digest, json);
    Ok(())
}

/// Writes the plan into a run folder; returns the job's digest.
///
/// # Errors
/// Those of the disk.
pub fn write_plan(folder: &RunFolder, planned: &Planned) -> Result<Digest, PlanError> {
    for (digest, bytes) in &planned.parts {
        write_atomically(&part_path(folder.root(), digest), bytes)?;
    }
    write_atomically(&head_path(folder.root()), &planned.head)?;
    Ok(Digest::of(&planned.head))
}

/// Reads the plan of a run folder: the head, the job's digest, and where every file of it lies.
///
/// # Errors
/// A file is missing or damaged, or the plan is of another format.
pub fn read_plan(folder: &RunFolder) -> Result<(Plan, Digest, BTreeMap<Digest, PathBuf>), PlanError> {
    let path = head_path(folder.root());
    let damaged = |path: &PathBuf, reason: String| PlanError::Damaged { path: path.clone(), reason };
    let bytes = std::fs::read(&path).map_err(|error| PlanError::unreadable(&path, error))?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| damaged(&path, error.to_string()))?;
    let found = value.get("format").and_then(Value::as_u64).unwrap_or_default() as u32;
    if found != PLAN_FORMAT {
        return Err(PlanError::Format { run: folder.name(), found });
    }
    let plan: Plan = serde_json::from_value(value).map_err(|error| damaged(&path, error.to_string()))?;
    let digest = Digest::of(&bytes);
    let mut files = BTreeMap::from([(digest, path)]);
    let parts = plan.datasets.iter().flat_map(|dataset| &dataset.parts).map(|part| &part.digest);
    for part in parts.chain(&plan.duplicates) {
        // Read whole: workers would refuse a part that is not what its name says, and no worker could finish its samples.
        read_file(folder, part)?;
        files.insert(*part, part_path(folder.root(), part));
    }
    Ok((plan, digest, files))
}

/// The digest of the plan of a run, which is its job's identity.
///
/// # Errors
/// There is no plan.
pub fn plan_digest(folder: &RunFolder) -> Result<Digest, PlanError> {
    let path = folder.plan().join("job.json");
    match std::fs::read(&path) {
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

/// The bytes of a file that is named by its content.
fn read_file(folder: &RunFolder, digest: &Digest) -> Result<Vec<u8>, PlanError> {
    let path = part_path(folder.root(), digest);
    let bytes = std::fs::read(&path).map_err(|error| PlanError::unreadable(&path, error))?;
    match Digest::of(&bytes) == *digest {
        true => Ok(bytes),
        false => Err(PlanError::Damaged { path, reason: "its content does not match its name".into() }),
    }
}
