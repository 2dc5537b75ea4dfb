//! From the configuration to the plan: reads the data, renders every prompt, draws every shot, pins every choice.
//!
//! Written once, parts first, the head last: a plan is there when `plan/job.json` is.

use super::carry_over::EarlierRun;
use super::folder::{FolderError, RunFolder, write_atomically};
use super::pins::{pin, pin_elsewhere};
use super::plan_parts::{PartCutter, PlanFiles};
use super::progress::PlanBar;
use super::rows::{self, Faults, Rows};
use crate::descriptors::is_exhaustion;
use compass_common::encode::{self, EncodeError};
use compass_config::{Config, DatasetConfig, ModelConfig};
use compass_diagnostic::{Diagnostic, Diagnostics};
use compass_eval::report::{prediction_record, pretty};
use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::prompt::{MetaTemplate, RowSource, Shot, ShotFormat, WorkloadCounter, render_each};
use compass_plan::{
    Body, DatasetPlan, DeviceRequest, Dtype, DuplicateGroups, EntryRuns, InferSpec, ModelPlan, PLAN_FORMAT, Part,
    PartRef, Plan, Sample, Unit, found_part, head_path, part_path, read_plan_file,
};
use compass_types::ids::{Digest, UnitId};
use compass_types::result::{Outcome, PromptFit, SampleResult};
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
    let mut parts = PlanFiles::default();
    let mut errors = Faults::default();
    let (mut datasets, mut requests) = (Vec::new(), Vec::new());
    let mut bar = PlanBar::new((config.datasets.len() + config.models.len()) as u64);
    for dataset in &config.datasets {
        bar.begin(&format!("data set {}", dataset.abbr));
        match plan_dataset(dataset, &mut parts) {
            Ok((planned, asked)) => {
                bar.end(planned.samples.into());
                datasets.push(planned);
                requests.push(asked);
            }
            Err(faults) => errors.add(faults),
        }
    }
    errors.found.extend(misfits(config));
    errors.none()?;
    let models = config.models.iter().map(|model| {
        bar.begin(&format!("weights of {}", model.abbr));
        let planned = pin_model(model);
        bar.end(0);
        planned
    });
    let models = models.collect();
    drop(bar);
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
struct Requests<'d> {
    dataset: &'d DatasetConfig,
    /// Of what all of them have in common, once the first sample is there.
    kind: Option<Digest>,
    shots: Vec<Digest>,
    digests: Vec<Digest>,
}

impl Requests<'_> {
    fn add(&mut self, sample: &Sample, shots: &[Shot], format: &ShotFormat) -> Result<(), EncodeError> {
        let kind = match self.kind {
            Some(kind) => kind,
            None => Digest::of(&encode::json("what it asks", &(&self.dataset.infer, format))?),
        };
        self.kind = Some(kind);
        for shot in shots.get(self.shots.len()..).unwrap_or_default() {
            self.shots.push(Digest::of(&encode::json("a shot", shot)?));
        }
        let mut bytes = kind.0.to_vec();
        sample.shots.iter().filter_map(|&at| self.shots.get(at as usize)).for_each(|shot| bytes.extend(shot.0));
        bytes.extend(encode::json("a sample", &sample.body)?);
        self.digests.push(Digest::of(&bytes));
        Ok(())
    }
}

/// Roles that a data set's templates name and a model's meta template does not know.
fn misfits(config: &Config) -> Vec<Diagnostic> {
    let meta = |model: &ModelConfig| model.meta_template.clone().or_else(|| model.chat.then(MetaTemplate::chat));
    let with_meta: Vec<_> = config.models.iter().filter_map(|model| Some((model, meta(model)?))).collect();
    let pairs =
        with_meta.iter().flat_map(|(model, meta)| config.datasets.iter().map(move |dataset| (model, meta, dataset)));
    let is_asked = |model: &ModelConfig, dataset: &DatasetConfig| {
        config.not_combined.iter().all(|(left, data)| *left != model.abbr || *data != dataset.abbr)
    };
    pairs
        .filter(|(model, _, dataset)| is_asked(model, dataset))
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

fn pin_model(model: &ModelConfig) -> ModelPlan {
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

fn plan_dataset(dataset: &DatasetConfig, parts: &mut PlanFiles) -> Result<PlannedDataset, Faults> {
    let planned = render_dataset(dataset, parts);
    planned.map_err(|mut faults| {
        if let Some(last) = faults.found.last_mut() {
            let place = format!("data set `{}` names its rows at {}", dataset.abbr, dataset.test.origin);
            last.facts.push(("note".into(), place));
        }
        faults
    })
}

fn render_dataset(dataset: &DatasetConfig, parts: &mut PlanFiles) -> Result<PlannedDataset, Faults> {
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
    let programs =
        ProgramColumns::of(dataset, &test).map_err(|faults| faults.into_iter().map(named).collect::<Vec<_>>())?;
    let config = encode::json("its prompts", &(&dataset.prompt, &dataset.infer, &dataset.retriever));
    let config = config.map_err(|error| vec![named(Diagnostic::of(&error).message)])?;
    let of_prompts = || Digest::of(&config).to_string().chars().take(6).collect();
    let mut build = Build::new(dataset, parts);
    let mut each = |mut sample: Sample, shots: &[Shot], format: &ShotFormat| {
        programs.add_to(&mut sample, &test);
        build.add(sample, shots, format);
    };
    render_each(&dataset.prompt, &dataset.infer, output, &dataset.retriever, (&test, &train), &mut each)
        .map_err(|faults| faults.iter().map(|fault| named(rows::located(fault, &test, &train))).collect::<Vec<_>>())?;
    let version = dataset.version.clone().unwrap_or_else(of_prompts);
    build.finish(version).map_err(|error| vec![named(Diagnostic::of(&error).message)].into())
}

/// A data set of the plan while its samples come.
struct Build<'d> {
    parts: &'d mut PlanFiles,
    cutter: PartCutter,
    requests: Requests<'d>,
    work: WorkloadCounter,
    entries: EntryRuns,
    format: ShotFormat,
    samples: u32,
    labels: Option<u32>,
    /// What went wrong first.
    fault: Option<PlanError>,
}

impl<'d> Build<'d> {
    fn new(dataset: &'d DatasetConfig, parts: &'d mut PlanFiles) -> Self {
        Self {
            parts,
            cutter: PartCutter::default(),
            requests: Requests { dataset, kind: None, shots: Vec::new(), digests: Vec::new() },
            work: WorkloadCounter::default(),
            entries: EntryRuns::default(),
            format: ShotFormat::default(),
            samples: 0,
            labels: None,
            fault: None,
        }
    }

    fn add(&mut self, sample: Sample, shots: &[Shot], format: &ShotFormat) {
        let infer = &self.requests.dataset.infer;
        if self.samples == 0 {
            self.format = format.clone();
            self.labels = match &sample.body {
                Body::Ppl { options } if *infer != InferSpec::PplOnly => Some(options.len() as u32),
                Body::Loglikelihood { options, .. } => Some(options.len() as u32),
                _ => None,
            };
        }
        self.samples += 1;
        self.work.count(&sample, shots, format);
        self.entries.count(infer, &sample.body);
        let added = self.requests.add(&sample, shots, format).map_err(PlanError::from);
        let added = added.and_then(|()| self.cutter.add(sample, shots, self.parts));
        self.fault = self.fault.take().or(added.err());
    }

    fn finish(self, version: String) -> Result<PlannedDataset, PlanError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let (dataset, work) = (self.requests.dataset, self.work.finish());
        let planned = DatasetPlan {
            abbr: dataset.abbr.clone(),
            version,
            infer: dataset.infer.clone(),
            shot_format: self.format,
            eval: dataset.eval.clone(),
            samples: self.samples,
            characters: work.own_characters,
            prefix_runs: work.prefix_runs,
            labels: self.labels,
            entries: self.entries.finish(),
            parts: self.cutter.finish(self.parts)?,
        };
        Ok((planned, self.requests.digests))
    }
}

/// What programs are made of, for gold answers of an evaluator that runs programs and needs more than the gold column.
struct ProgramColumns<'d> {
    evaluator: &'d EvaluatorSpec,
    columns: &'static [&'static str],
}

impl<'d> ProgramColumns<'d> {
    fn of(dataset: &'d DatasetConfig, test: &Rows) -> Result<Self, Vec<String>> {
        let evaluator = &dataset.eval.evaluator;
        let columns = evaluator.program_columns();
        let unknown: Vec<String> =
            columns.iter().filter_map(|column| test.unknown_column("its evaluator", column)).collect();
        if unknown.is_empty() { Ok(Self { evaluator, columns }) } else { Err(unknown) }
    }

    /// Adds them to the gold answer of a sample, unless it is a table, which holds them already.
    fn add_to(&self, sample: &mut Sample, test: &Rows) {
        if self.columns.is_empty() || sample.gold.is_object() {
            return;
        }
        let Some(row) = test.row(sample.index as usize) else { return };
        let values = self.columns.iter().filter_map(|&column| Some((column, row.get(column)?.clone())));
        sample.gold = self.evaluator.gold_with(std::mem::take(&mut sample.gold), values);
    }
}

/// The first sample of a data set as a person reads it: every prompt, and the gold answer.
pub(super) fn rendered_sample(mut dataset: DatasetConfig) -> Result<String, Diagnostics> {
    dataset.limit = Some(1);
    let mut parts = PlanFiles::default();
    let (planned, _) = plan_dataset(&dataset, &mut parts).map_err(|faults| Diagnostics::from(faults.found))?;
    let first = planned.parts.first().and_then(|part| parts.get(&part.digest));
    let part = first.and_then(|bytes| serde_json::from_slice::<Part>(&bytes).ok());
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
        files.insert(*part, found_part(folder.root(), part));
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

/// The content of a file that is named by it.
fn read_file(folder: &RunFolder, digest: &Digest) -> Result<Vec<u8>, PlanError> {
    let path = found_part(folder.root(), digest);
    read_plan_file(&path, digest).map_err(|error| PlanError::unreadable(&path, error))
}
