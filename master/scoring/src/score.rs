//! From the ledger to predictions, results and the table: a fold in sample order, and nothing else.
//!
//! Shard reports are checked here against that fold. They never make a number; a report that disagrees is an error.

use super::divergence::{Divergence, LaterResults};
use super::reasons::{self, Reasons};
use super::sample_notes::SampleNotes;
use super::thoughts::{ThoughtFile, Thoughts};
use compass_common::regular_file;
use compass_diagnostic::Diagnostic;
use compass_eval::evaluator::{Accumulator, EVAL_VERSION, executed};
use compass_eval::report::{Details, Findings, prediction_record, pretty, results_document, write_records};
use compass_eval::summary::{Summary, TableCell};
use compass_ledger::{Kind, Ledger, LedgerEntry, LedgerError};
use compass_plan::summary::{RowName, SummaryGroup};
use compass_plan::{DatasetPlan, Plan, Sample, Unit};
use compass_proto::{intervals_from_wire, v1};
use compass_run_folder::{
    ADOPTED_WORKER, FolderError, PlanError, RunFolder, read_part, remove_leftovers, write_atomically,
    write_atomically_by,
};
use compass_scheduler::CANCELLED;
use compass_settings::{LeftOut, left_out_lines};
use compass_types::ids::{Digest, UnitId};
use compass_types::intervals::IntervalSet;
use compass_types::result::{Outcome, PromptFit, SampleResult};
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::path::{Path, PathBuf};

/// Why a run cannot be scored.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("cannot write a document")]
    Write(#[from] io::Error),
}

/// The scores of a run.
#[derive(Debug)]
pub struct Scored {
    pub summary: Summary,
    /// For the screen: samples that were too long, tasks that failed, reports that disagree. An error says that a number is
    /// missing or in doubt: the severity does, never the words, which hold texts of models and data.
    pub notices: Vec<Diagnostic>,
    /// Whether every number stands on all its samples and every report agrees.
    pub complete: bool,
}

impl Scored {
    /// With the rows of groups, and of all rows those that are asked for: see [`Summary::with_groups`], [`Summary::in_order`].
    pub fn with_groups(mut self, groups: &[SummaryGroup], rows: Option<&[RowName]>) -> Self {
        self.summary = self.summary.with_groups(groups, rows).in_order(rows);
        self.complete &= self.summary.is_complete();
        self
    }

    /// With remarks below the table, on numbers that are there.
    pub fn noting(mut self, remarks: Vec<String>) -> Self {
        self.summary = self.summary.with_notes(remarks);
        self
    }

    /// With what the job was asked for and does not run, below the table: it is not complete then.
    pub fn without(mut self, left_out: &[LeftOut]) -> Self {
        self.summary = self.summary.with_notes(left_out_lines(left_out));
        self.complete &= left_out.is_empty();
        self
    }
}

/// So many samples at most are scored before it is told how far it is.
const TOLD_EVERY: usize = 1_000;

/// What there is to say beside the table.
#[derive(Default)]
struct ScoreNotes {
    notices: Vec<Diagnostic>,
    samples: SampleNotes,
    reasons: Reasons,
}

/// What became of answers as programs, by the unit that gave the answers. Empty where no data set runs programs.
#[derive(Debug, Default)]
pub struct Executions(pub BTreeMap<UnitId, UnitEntries>);

/// Entries of the ledger of a run by unit, read once for its programs and its scores. Long texts of thinking are kept apart.
#[derive(Debug, Default)]
pub struct Answers(pub BTreeMap<UnitId, UnitEntries>, ThoughtFile);

impl Answers {
    /// Reads the ledger of `folder`. `recorded` is how much of each segment exists: see [`Ledger::read`]. Waits for the disk.
    ///
    /// # Errors
    /// The ledger is damaged.
    pub fn read(folder: &RunFolder, digest: Digest, recorded: &BTreeMap<String, u64>) -> Result<Self, LedgerError> {
        Self::read_noting(&Ledger::new(folder.ledger(), digest), recorded, &mut |_| {})
    }

    /// As [`Self::read`]; every entry is shown to `note` as well.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub fn read_noting(
        ledger: &Ledger,
        recorded: &BTreeMap<String, u64>,
        note: &mut dyn FnMut(&LedgerEntry),
    ) -> Result<Self, LedgerError> {
        let mut answers = Self(BTreeMap::new(), ThoughtFile::within(ledger.folder()));
        let mut later = LaterResults::default();
        let summary = ledger.read(recorded, &mut |entry| {
            note(&entry);
            later.take(&entry);
            answers.take(entry);
        })?;
        // Reports on them may be of a failure that counts no more: they say nothing.
        for (unit, samples) in summary.reopened {
            let unit = answers.0.entry(unit).or_default();
            for index in samples.iter() {
                unit.incomparable.insert(index);
            }
        }
        for divergence in later.divergences(ledger, recorded)? {
            answers.0.entry(divergence.unit).or_default().diverged.push(divergence);
        }
        Ok(answers)
    }

    /// Takes the next entry; of several results of a sample the first counts.
    fn take(&mut self, entry: LedgerEntry) {
        match entry.kind() {
            Kind::Sample | Kind::Divergence => {
                let Some(mut result) = entry.result() else { return };
                let Self(units, file) = self;
                let unit = units.entry(UnitId(entry.unit)).or_default();
                unit.adopted |= entry.worker == ADOPTED_WORKER;
                match entry.kind() {
                    Kind::Sample => {
                        if let Entry::Vacant(open) = unit.results.entry(result.index) {
                            unit.thoughts.take(file, &mut result);
                            open.insert(result);
                        }
                    }
                    _ => {
                        unit.incomparable.insert(result.index);
                    }
                }
            }
            Kind::Report => {
                let Some(report) = entry.report() else { return };
                self.0.entry(UnitId(report.unit)).or_default().reports.push(ShardCheck {
                    worker: entry.worker,
                    samples: intervals_from_wire(&report.samples),
                    claimed: is_compared(&report).then_some(report.state),
                    folded: None,
                });
            }
            Kind::Drawn => {
                // Reports on it are of the answers that were drawn after these.
                let Some(drawn) = entry.drawn() else { return };
                self.0.entry(UnitId(entry.unit)).or_default().incomparable.insert(drawn.index);
            }
            Kind::Pin | Kind::Tally | Kind::Worker | Kind::Reopened | Kind::Unknown => {}
        }
    }

    /// Results that differ from the recorded ones although both come from devices of one type.
    pub(crate) fn diverged(&self) -> impl Iterator<Item = &Divergence> {
        self.0.values().flat_map(|unit| &unit.diverged)
    }

    /// How many samples have a result.
    pub fn count(&self) -> u64 {
        self.0.values().map(|unit| unit.results.len() as u64).sum()
    }

    /// Samples of `failures` that have no result failed.
    pub fn fail(&mut self, failures: &[(UnitId, IntervalSet, String)]) {
        for (unit, samples, reason) in failures {
            let unit = self.0.entry(*unit).or_default();
            for index in samples.iter() {
                if let Entry::Vacant(open) = unit.results.entry(index) {
                    let outcome = Outcome::Failed { reason: reason.clone() };
                    open.insert(SampleResult { index, fit: PromptFit::default(), outcome });
                    unit.cancelled += u64::from(reason.starts_with(CANCELLED));
                }
            }
        }
    }
}

/// What the ledger holds of one unit.
#[derive(Debug, Default)]
pub struct UnitEntries {
    /// First results by sample, without the long texts of their thinking.
    pub results: BTreeMap<u32, SampleResult>,
    thoughts: Thoughts,
    reports: Vec<ShardCheck>,
    /// Samples on which a worker's report says nothing: what it saw is not what is recorded.
    incomparable: IntervalSet,
    /// Later results that differ from the recorded ones, on devices of one type.
    diverged: Vec<Divergence>,
    /// Samples that were not run any more, since the job was cancelled.
    cancelled: u64,
    /// Another evaluator wrote the predictions, and knows more of them than we do.
    adopted: bool,
}

/// A worker's claim and our own fold of the same samples.
#[derive(Debug)]
struct ShardCheck {
    worker: String,
    samples: IntervalSet,
    /// Digest of the worker's state, where it evaluates as this master does.
    claimed: Option<Vec<u8>>,
    folded: Option<Accumulator>,
}

/// What is known of a run beside its plan and its ledger.
#[derive(Debug)]
pub struct Evidence<'a> {
    pub answers: Answers,
    /// The samples that failed for good in this run, with the reasons.
    pub failures: &'a [(UnitId, IntervalSet, String)],
    pub executions: Executions,
}

/// Scores every unit of the plan. `write` also writes `predictions/` and `results/`, the latter with
/// or without a line for every sample; `on_samples` hears how many more samples are scored, now and then.
///
/// # Errors
/// The plan is damaged, or the disk refuses.
pub fn score(
    folder: &RunFolder,
    plan: &Plan,
    evidence: Evidence<'_>,
    write: Option<Details>,
    on_samples: &mut dyn FnMut(u64),
) -> Result<Scored, ScoreError> {
    let Evidence { mut answers, failures, mut executions } = evidence;
    answers.fail(failures);
    let mut units = answers.0;
    let mut cells = Vec::new();
    let mut said = ScoreNotes::default();
    for unit in plan.units() {
        let entries = units.remove(&unit.id).unwrap_or_default();
        let execution = executions.0.remove(&unit.id);
        let cell = score_unit(folder, unit, entries, execution, write, &mut said, on_samples)?;
        cells.push((unit.id, cell));
    }
    let ScoreNotes { mut notices, samples, reasons } = said;
    notices.extend(samples.notes());
    notices.extend(reasons.notices());
    let summary = Summary::new(plan, cells)
        .with_notes(samples.remarks())
        .with_notes(plan.datasets.iter().filter_map(own_questions));
    let complete = summary.is_complete() && !notices.iter().any(Diagnostic::is_error);
    Ok(Scored { summary, notices, complete })
}

/// That questions of a data set stand among their own shots.
fn own_questions(dataset: &DatasetPlan) -> Option<String> {
    let DatasetPlan { abbr, own_questions, samples, .. } = dataset;
    (*own_questions > 0).then(|| {
        format!(
            "{abbr}: {own_questions} of {samples} questions are shown with their answer, among their own shots: \
             `leave_out = true` in `retriever` leaves them out"
        )
    })
}

/// Whether a report can be held against this master's fold: evaluators of another version may give another state.
pub(super) fn is_compared(report: &v1::ShardReport) -> bool {
    report.eval_version == EVAL_VERSION
}

fn score_unit(
    folder: &RunFolder,
    unit: Unit<'_>,
    mut entries: UnitEntries,
    mut execution: Option<UnitEntries>,
    write: Option<Details>,
    said: &mut ScoreNotes,
    on_samples: &mut dyn FnMut(u64),
) -> Result<TableCell, ScoreError> {
    let eval = unit.eval();
    let mut total = Accumulator::new(&eval);
    let mut findings = Findings::default();
    let meta = unit.model.meta();
    let is_written = write.is_some() && !entries.adopted;
    let records = unit.dataset.parts.iter().flat_map(|part| match read_part(folder, part) {
        Err(error) => vec![Err(ScoreError::from(error))],
        Ok(part) => {
            let mut records = Vec::with_capacity(part.samples.len());
            for samples in part.samples.chunks(TOLD_EVERY) {
                for sample in samples {
                    let Some(kept) = entries.results.get(&sample.index) else { continue };
                    let restored = match entries.thoughts.restored(kept) {
                        Ok(restored) => restored,
                        Err(error) => return vec![Err(ScoreError::from(error))],
                    };
                    let result = restored.as_ref().unwrap_or(kept);
                    fold_into_checks(&mut entries.reports, unit, sample, result);
                    let ran = execution.as_mut().map(|execution| {
                        let ran = executed(result, execution.results.get(&sample.index));
                        fold_into_checks(&mut execution.reports, unit, sample, &ran);
                        ran
                    });
                    let judged = ran.as_ref().unwrap_or(result);
                    total.observe(sample, judged);
                    let record =
                        prediction_record(unit.dataset, meta.as_ref(), &part, sample, result, unit.model.thinking.keep);
                    findings.observe(sample, judged, &eval, (write == Some(Details::Include)).then_some(&record));
                    records.push(Ok((sample.index, record)));
                }
                on_samples(samples.len() as u64);
            }
            records
        }
    });
    let path = folder.predictions(&unit.model.abbr, &unit.dataset.abbr);
    if is_written {
        write_atomically_by(&path, |out| write_records(out, records))?;
        remove_leftovers(&path);
        folder.remove_unfinished_predictions(&unit.model.abbr, &unit.dataset.abbr);
    } else {
        write_records(io::sink(), records)?;
    }
    let mut metrics = total.finish();
    metrics.counts.cancelled = entries.cancelled;
    metrics.answers = findings.answers().map(Box::new);
    let document = results_document(unit.dataset, &metrics, &findings, write.unwrap_or_default());
    let name = format!("{}/{}", unit.model.abbr, unit.dataset.abbr);
    said.samples.add(&name, &document.summary);
    said.notices.extend(disagreements(&name, &entries));
    said.notices.extend(differences(&name, &entries.diverged));
    said.notices.extend(execution.iter().flat_map(|execution| disagreements(&name, execution)));
    said.reasons.observe(&name, &findings);
    if write.is_some() {
        let path = folder.results(&unit.model.abbr, &unit.dataset.abbr);
        write_atomically_by(&path, |out| pretty(out, &document).map_err(ScoreError::from))?;
        remove_leftovers(&path);
    }
    Ok(reasons::cell(&unit, metrics, &findings))
}

fn fold_into_checks(checks: &mut [ShardCheck], unit: Unit<'_>, sample: &Sample, result: &SampleResult) {
    for check in checks.iter_mut().filter(|check| check.samples.contains(sample.index)) {
        check.folded.get_or_insert_with(|| Accumulator::new(&unit.eval())).observe(sample, result);
    }
}

/// Samples of which a device gave one result and another of its type another.
fn differences(name: &str, diverged: &[Divergence]) -> Option<Diagnostic> {
    let first = diverged.first()?;
    let ids: Vec<Value> = diverged.iter().map(|divergence| divergence.sample.into()).collect();
    let (count, samples) = (ids.len(), if ids.len() == 1 { "sample" } else { "samples" });
    let Divergence { recorded, differs, .. } = first;
    Some(Diagnostic::error(format!(
        "{name}: {count} {samples} came twice with different results from devices of one type: {}; the first \
         recorded stands (sample {}: recorded from worker {recorded}, another from worker {differs})",
        reasons::some(&ids),
        first.sample
    )))
}

/// A report on samples that diverged, or of which an earlier run had drawn answers, cannot agree with the recorded results, and says
/// nothing; divergences are counted. So are
/// reports of another version of the evaluators, in `logs/run.json`.
fn disagreements(name: &str, entries: &UnitEntries) -> Vec<Diagnostic> {
    let wrong = entries.reports.iter().filter(|check| {
        let is_comparable = !entries.incomparable.iter().any(|index| check.samples.contains(index));
        let folded = check.folded.as_ref().map(Accumulator::digest);
        let agrees = |claimed: &Vec<u8>| folded.is_some_and(|folded| claimed.as_slice() == folded.0);
        is_comparable && check.claimed.as_ref().is_some_and(|claimed| !agrees(claimed))
    });
    let say = |check: &ShardCheck| {
        let ranges = check.samples.pairs().iter().map(|(first, end)| format!("{first}..{end}")).collect::<Vec<_>>();
        Diagnostic::error(format!(
            "{name}: worker {} reported other shard metrics for samples {} than its recorded results give; \
             the table follows the results, but do not trust that worker",
            check.worker,
            ranges.join(",")
        ))
    };
    wrong.map(say).collect()
}

/// What the name of the table's long form begins with.
const LONG: &str = "long_";

/// The long form of the latest table of the run in this folder, where it has one.
pub fn latest_table(run: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(run.join("summary")).ok()?;
    let is_long = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(LONG) && name.ends_with(".csv")
    };
    entries.flatten().map(|entry| entry.path()).filter(is_long).max()
}

/// The latest table of the run in this folder as a terminal of this width shows it; `None` where it cannot be read.
pub fn latest_table_within(run: &Path, width: usize) -> Option<String> {
    Some(latest_summary(run)?.with_average().within(width))
}

/// The latest table of a run; `None` where there is none yet.
pub fn latest_summary(run: &Path) -> Option<Summary> {
    Summary::from_long_csv(&regular_file::read_text(&latest_table(run)?, regular_file::LARGE).ok()?)
}

/// Writes the table as text, CSV and Markdown, and its long form as CSV beside.
///
/// # Errors
/// Those of the disk.
pub fn summarize(folder: &RunFolder, scored: &Scored, stamp: &str) -> Result<(), FolderError> {
    let summary = &scored.summary;
    for (extension, text) in [("txt", summary.document()), ("csv", summary.csv()), ("md", summary.markdown())] {
        write_atomically(&folder.summary().join(format!("summary_{stamp}.{extension}")), text.as_bytes())?;
    }
    write_atomically(&folder.summary().join(format!("{LONG}{stamp}.csv")), summary.long_csv().as_bytes())
}
