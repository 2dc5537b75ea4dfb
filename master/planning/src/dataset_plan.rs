//! From one data set's configuration to its part of the plan: rows are read, and each is rendered, counted and cut into parts
//! before the next.

use super::carry_over::EarlierRun;
use super::rows::{self, Faults, Rows};
use compass_common::encode::{self, EncodeError};
use compass_diagnostic::{Diagnostic, Diagnostics};
use compass_eval::report::{prediction_record, pretty};
use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::prompt::{RowSource, Shot, ShotFormat, WorkloadCounter, render_each};
use compass_plan::{Body, DatasetPlan, EntryRuns, EvalSpec, InferSpec, Part, Sample};
use compass_run_folder::{PartCutter, PlanError, PlanFiles, read_file};
use compass_settings::DatasetConfig;
use compass_types::ids::Digest;
use compass_types::result::{Outcome, PromptFit, SampleResult};

/// A data set, and the digests of its requests.
pub(super) type PlannedDataset = (DatasetPlan, Vec<Digest>);

pub fn plan_dataset(dataset: &DatasetConfig, parts: &mut PlanFiles) -> Result<PlannedDataset, Faults> {
    let planned = render_dataset(dataset, parts);
    planned.map_err(|mut faults| {
        if let Some(last) = faults.found.last_mut() {
            let place = format!("data set `{}` names its rows at {}", dataset.abbr, dataset.test.origin);
            last.facts.push(("note".into(), place));
        }
        faults
    })
}

/// The plan of a data set whose rows are `absent`, as `run` has it: evaluated as the configuration says now.
pub(super) fn recorded_dataset(
    dataset: &DatasetConfig,
    absent: &str,
    run: Option<&EarlierRun>,
    parts: &mut PlanFiles,
) -> Result<PlannedDataset, Faults> {
    let named = |fault: String| {
        let fault = Diagnostic::error(format!("data set `{}`: {fault}", dataset.abbr));
        Faults::from(vec![fault.with_help("put its rows back where the configuration names them")])
    };
    let Some(run) = run else { return Err(named(absent.to_owned())) };
    let version = version_of(dataset).map_err(|error| named(Diagnostic::of(&error).message))?;
    let is_same = |planned: &&DatasetPlan| {
        let columns = |eval: &EvalSpec| eval.evaluator.beside_gold();
        (&planned.abbr, &planned.version, &planned.infer) == (&dataset.abbr, &version, &dataset.infer)
            && (columns(&dataset.eval).is_empty() || columns(&planned.eval) == columns(&dataset.eval))
            // The samples of `swce_loss` are no rows, which a limit counts.
            && dataset.limit.is_none_or(|limit| planned.samples <= limit && !matches!(planned.infer, InferSpec::SwceLoss { .. }))
    };
    let Some(planned) = run.plan().datasets.iter().find(is_same) else {
        return Err(named(format!("{absent}; {} asked other prompts, and cannot be scored in its place", run.name())));
    };
    for part in &planned.parts {
        let added = read_file(run.folder(), &part.digest).and_then(|content| parts.add(&content));
        added.map_err(|error| named(Diagnostic::of(&error).message))?;
    }
    Ok((DatasetPlan { eval: dataset.eval.clone(), ..planned.clone() }, Vec::new()))
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
    let version = version_of(dataset).map_err(|error| vec![named(Diagnostic::of(&error).message)])?;
    let mut build = Build::new(dataset, parts);
    let mut each = |mut sample: Sample, shots: &[Shot], format: &ShotFormat| {
        programs.add_to(&mut sample, &test);
        build.add(sample, shots, format);
    };
    let own_questions =
        render_each(&dataset.prompt, &dataset.infer, output, &dataset.retriever, (&test, &train), &mut each).map_err(
            |faults| faults.iter().map(|fault| named(rows::located(fault, &test, &train))).collect::<Vec<_>>(),
        )?;
    build.finish(version, own_questions).map_err(|error| vec![named(Diagnostic::of(&error).message)].into())
}

/// The version of a data set, as its table shows it.
fn version_of(dataset: &DatasetConfig) -> Result<String, EncodeError> {
    // The number of runs is no part of it, as in OpenCompass.
    let config = encode::json("its prompts", &(&dataset.prompt, dataset.infer.asked_once(), &dataset.retriever))?;
    let of_prompts = || Digest::of(&config).to_string().chars().take(6).collect();
    Ok(dataset.version.clone().unwrap_or_else(of_prompts))
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
    /// The first error.
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
                Body::Ppl { options } if !matches!(infer, InferSpec::PplOnly | InferSpec::InferencePpl) => {
                    Some(options.len() as u32)
                }
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

    fn finish(self, version: String, own_questions: u32) -> Result<PlannedDataset, PlanError> {
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
            characters: work.own_characters * dataset.infer.overlap(),
            prefix_runs: work.prefix_runs,
            labels: self.labels,
            entries: self.entries.finish(),
            own_questions,
            parts: self.cutter.finish(self.parts)?,
        };
        Ok((planned, self.requests.digests))
    }
}

/// Columns that programs are made of, for gold answers of an evaluator that runs programs and needs more than the gold column.
struct ProgramColumns<'d> {
    evaluator: &'d EvaluatorSpec,
    columns: &'static [&'static str],
}

impl<'d> ProgramColumns<'d> {
    fn of(dataset: &'d DatasetConfig, test: &Rows) -> Result<Self, Vec<String>> {
        let evaluator = &dataset.eval.evaluator;
        let columns = evaluator.beside_gold();
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
        let first = test.row(0);
        sample.gold = self.evaluator.gold_with(std::mem::take(&mut sample.gold), &row, first.as_deref());
    }
}

/// The first sample of a data set as a person reads it: every prompt, and the gold answer.
pub fn rendered_sample(mut dataset: DatasetConfig) -> Result<String, Diagnostics> {
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
    let mut record = prediction_record(&planned, None, part, sample, &result, None);
    if let Some(record) = record.as_object_mut() {
        record.shift_remove("error");
    }
    let mut text = Vec::new();
    pretty(&mut text, &record).map_err(|error| Diagnostic::of(&error))?;
    Ok(String::from_utf8_lossy(&text).into_owned() + "\n")
}

/// Digests of what the samples of a data set ask a model, in order: equal where every model answers alike.
struct Requests<'d> {
    dataset: &'d DatasetConfig,
    /// Digest of what all of them have in common, once the first sample is there.
    kind: Option<Digest>,
    shots: Vec<Digest>,
    digests: Vec<Digest>,
}

impl Requests<'_> {
    fn add(&mut self, sample: &Sample, shots: &[Shot], format: &ShotFormat) -> Result<(), EncodeError> {
        let kind = match self.kind {
            Some(kind) => kind,
            None => {
                let takes_programs = self.dataset.eval.takes_programs();
                Digest::of(&encode::json("what it asks", &(&self.dataset.infer, format, takes_programs))?)
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plan::{Decoding, GenSpec};

    #[test]
    fn a_version_does_not_depend_on_the_number_of_runs() {
        let runs = |num_return_sequences, seed| {
            let decoding = Decoding { num_return_sequences, seed, ..Decoding::default() };
            InferSpec::Gen(GenSpec { decoding, ..GenSpec::default() }).asked_once()
        };
        assert_eq!(runs(Some(3), None), runs(None, None));
        assert_ne!(runs(Some(3), Some(1)), runs(None, None));
    }
}
