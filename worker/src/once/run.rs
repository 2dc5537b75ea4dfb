//! Runs the samples of a task and prints their results.

use super::arguments::OnceOptions;
use super::batches::{Batches, TaskBatch};
use super::reading::{PlanFolder, ReadError, ReadPart};
use crate::agent::Programs;
use crate::engine_child::HAS_ENGINE;
use crate::engine_link::{Gpus, Slot};
use compass_agent::{BatchEnd, BatchOrder, MAX_BATCH_SAMPLES, ModelOrder, PartOrder, SlotEvent, SlotReport};
use compass_diagnostic::Diagnostic;
use compass_eval::report::prediction_record;
use compass_plan::engine::{BatchSpec, ENGINE_TIMEOUT, TokenCounters};
use compass_plan::{ModelKind, Unit};
use compass_types::ids::UnitId;
use compass_types::intervals::IntervalSet;
use compass_types::result::{Outcome, PromptFit, SampleResult};
use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::sync::mpsc;

const SCORED: u8 = 0;
const INCOMPLETE: u8 = 1;
const BAD_INPUT: u8 = 2;
const INFRASTRUCTURE: u8 = 3;

/// Reason why the task could not be completed.
#[derive(Debug, thiserror::Error)]
enum OnceError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("cannot load model `{model}`: {reason}")]
    Load { model: String, reason: String },
    #[error("cannot run {unit}: {reason}")]
    Engine { unit: String, reason: String },
    #[error("cannot run model-written programs: {0}")]
    Sandbox(String),
    #[error("cannot write the results")]
    Write(#[source] io::Error),
    #[error("cannot start the runtime")]
    Runtime(#[source] io::Error),
}

impl OnceError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Read(_) => BAD_INPUT,
            Self::Load { .. } | Self::Engine { .. } | Self::Sandbox(_) => INCOMPLETE,
            Self::Write(_) | Self::Runtime(_) => INFRASTRUCTURE,
        }
    }
}

/// Totals, printed at the end.
#[derive(Debug, Default)]
struct Tally {
    scored: u32,
    failed: u32,
    tokens: TokenCounters,
}

/// Runs one task of a run folder. Exit codes: 0 every sample has a result; 1 some samples failed, or the model cannot
/// be loaded; 2 the task does not exist, or the plan is damaged; 3 the results cannot be written.
pub fn run(options: OnceOptions) -> ExitCode {
    let print = |text: String| drop(writeln!(io::stderr(), "compass-worker: {text}"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let done = runtime.map_err(OnceError::Runtime).and_then(|runtime| runtime.block_on(Box::pin(run_task(&options))));
    match done {
        Ok(tally) => {
            let TokenCounters { submitted, computed, generated, .. } = tally.tokens;
            print(format!(
                "{} samples scored, {} failed; tokens: {submitted} submitted, {computed} computed, {generated} generated",
                tally.scored, tally.failed
            ));
            ExitCode::from(if tally.failed == 0 { SCORED } else { INCOMPLETE })
        }
        Err(error) => {
            print(Diagnostic::of(&error).to_string());
            ExitCode::from(error.exit_code())
        }
    }
}

async fn run_task(options: &OnceOptions) -> Result<Tally, OnceError> {
    let folder = PlanFolder::open(&options.plan)?;
    let pieces = folder.task(&options.task, HAS_ENGINE)?;
    // Parts are read before an engine is started, so that a damaged one is reported alone.
    for (unit, samples) in &pieces {
        let Some(unit) = folder.plan.unit(*unit) else { continue };
        let mut batches = Batches::new(unit.dataset, samples, MAX_BATCH_SAMPLES);
        while let Some(batch) = batches.next() {
            folder.part(&batch.part)?;
        }
    }
    let out: Box<dyn Write + Send> = match &options.out {
        Some(path) => Box::new(File::create(path).map_err(OnceError::Write)?),
        None => Box::new(io::stdout()),
    };
    let mut task = Task { options, folder, out, tally: Tally::default() };
    for (unit, samples) in &pieces {
        Box::pin(task.piece(*unit, samples)).await?;
    }
    Ok(task.tally)
}

struct Task<'o> {
    options: &'o OnceOptions,
    folder: PlanFolder,
    out: Box<dyn Write + Send>,
    tally: Tally,
}

impl Task<'_> {
    async fn piece(&mut self, unit: UnitId, samples: &IntervalSet) -> Result<(), OnceError> {
        let plan = self.folder.plan.clone();
        let Some(unit) = plan.unit(unit) else { return Ok(()) };
        let batches = Batches::new(unit.dataset, samples, MAX_BATCH_SAMPLES);
        match unit.model.kind {
            ModelKind::Sandbox => self.programs(&unit, batches).await,
            _ => {
                let (reports, inbox) = mpsc::channel(1024);
                let slot = Slot::start::<SlotReport>(0, self.options.engine.clone(), Gpus::default(), reports);
                let done = self.engine(&unit, batches, &slot, inbox).await;
                slot.stop().await;
                done
            }
        }
    }

    async fn engine(
        &mut self,
        unit: &Unit<'_>,
        mut batches: Batches,
        slot: &Slot,
        mut inbox: mpsc::Receiver<SlotReport>,
    ) -> Result<(), OnceError> {
        let broken = |reason: String| OnceError::Engine { unit: unit.name(), reason };
        let model = serde_json::to_vec(unit.model).map_err(|error| broken(error.to_string()))?;
        let model = Arc::new(ModelOrder {
            plan: model,
            device: self.options.device.clone(),
            num_gpus: unit.model.num_gpus,
            deterministic: unit.model.deterministic,
        });
        let spec = BatchSpec::of_unit(unit);
        let spec = Arc::new(serde_json::to_vec(&spec).map_err(|error| broken(error.to_string()))?);
        let name: Arc<str> = unit.name().into();
        let mut id = 0;
        while let Some(batch) = batches.next() {
            let part = self.folder.part(&batch.part)?;
            id += 1;
            let bytes = Arc::new(part.bytes.clone());
            let order = BatchOrder {
                id,
                extends: false,
                name: name.clone(),
                model: model.clone(),
                job: Arc::default(),
                spec: spec.clone(),
                part: PartOrder { digest: part.digest, bytes },
                samples: batch.samples.clone(),
                drawn: Vec::new(),
                timeout: ENGINE_TIMEOUT,
            };
            if !slot.submit(order) {
                return Err(broken("the engine's slot is not idle".into()));
            }
            let mut unfinished = batch.samples.clone();
            let end = loop {
                match inbox.recv().await.map(|report| report.event) {
                    Some(SlotEvent::Ready { .. } | SlotEvent::Waiting { .. } | SlotEvent::NotTaken { .. }) => {}
                    Some(SlotEvent::Result(result)) => {
                        batches.succeeded(result.index);
                        unfinished.retain(|index| *index != result.index);
                        let index = result.index;
                        let result = SampleResult::try_from(result).unwrap_or_else(|error| {
                            failed(index, format!("the engine gave a malformed result: {error}"))
                        });
                        self.print(unit, &part, &result)?;
                    }
                    Some(SlotEvent::Ended { end, .. }) => break end,
                    None => return Err(broken("the engine's slot has ended".into())),
                }
            };
            let reason = match end {
                BatchEnd::Done { tokens, notes, .. } => {
                    self.tally.tokens.add(&tokens);
                    for note in notes {
                        tracing::info!(note, "note of the engine");
                    }
                    "the engine gave no result for this sample, twice".to_owned()
                }
                BatchEnd::EngineDied { message } => format!("the engine died on this sample twice: {message}"),
                BatchEnd::LoadFailed { message, .. } => {
                    return Err(OnceError::Load { model: unit.model.abbr.clone(), reason: message });
                }
                BatchEnd::NeverStarted { message }
                | BatchEnd::DeviceLost { message }
                | BatchEnd::Refused { message } => {
                    return Err(broken(message));
                }
            };
            for index in batches.died(&batch, &unfinished) {
                self.print(unit, &part, &failed(index, reason.clone()))?;
            }
        }
        Ok(())
    }

    async fn programs(&mut self, unit: &Unit<'_>, mut batches: Batches) -> Result<(), OnceError> {
        let programs = Programs::detect(self.options.programs, 1).await;
        if let Some(refusal) = programs.refusal() {
            return Err(OnceError::Sandbox(refusal));
        }
        while let Some(TaskBatch { part, samples }) = batches.next() {
            let part = self.folder.part(&part)?;
            for index in samples {
                let result = programs.run(&part.part, index).await;
                let result = result.unwrap_or_else(|| Err("the sample has no programs".into()));
                self.print(unit, &part, &result.map_err(OnceError::Sandbox)?)?;
            }
        }
        Ok(())
    }

    /// Prints a line: model, data set and index, then the record as in predictions.
    fn print(&mut self, unit: &Unit<'_>, part: &ReadPart, result: &SampleResult) -> Result<(), OnceError> {
        let Some(sample) = part.part.sample(result.index) else { return Ok(()) };
        match result.outcome {
            Outcome::Failed { .. } | Outcome::NoRoom { .. } => self.tally.failed += 1,
            _ => self.tally.scored += 1,
        }
        let meta = unit.model.meta();
        let record =
            prediction_record(unit.dataset, meta.as_ref(), &part.part, sample, result, unit.model.thinking.keep);
        let mut line = serde_json::Map::new();
        line.insert("model".into(), unit.model.abbr.clone().into());
        line.insert("dataset".into(), unit.dataset.abbr.clone().into());
        line.insert("index".into(), result.index.into());
        if let serde_json::Value::Object(record) = record {
            line.extend(record);
        }
        let mut line = serde_json::to_vec(&line).map_err(|error| OnceError::Write(error.into()))?;
        line.push(b'\n');
        self.out.write_all(&line).and_then(|()| self.out.flush()).map_err(OnceError::Write)
    }
}

fn failed(index: u32, reason: String) -> SampleResult {
    SampleResult { index, fit: PromptFit::default(), outcome: Outcome::Failed { reason } }
}
