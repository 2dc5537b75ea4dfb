//! A job as a server keeps it: all that is needed to run it, or to go on with it, beside its run folder.

use super::request::{JobRequest, Mode};
use compass_cli::exit;
use compass_common::words::grouped;
use compass_diagnostic::Diagnostic;
use compass_eval::report::Details;
use compass_plan::partition::PartitionerKind;
use compass_plan::summary::{RowName, SummaryGroup};
use compass_run::ModelPlacement;
use compass_run_folder::RunFolder;
use compass_scheduler::broker::JobId;
use compass_settings::{Config, LeftOut, RunnerConfig, StageConfig};
use compass_types::ids::Digest;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Everything that is needed to run a job or to continue it, beside its run folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Digest of the plan: the job's identity.
    pub plan: Digest,
    /// The run folder.
    pub folder: PathBuf,
    /// Another run, of which this one took over what is the same.
    pub earlier: Option<PathBuf>,
    /// Time at which it was accepted.
    pub submitted: String,
    /// Its share grows with it.
    pub priority: u32,
    pub mode: Mode,
    pub details: bool,
    pub unsafe_local_exec: bool,
    /// The command with which the run goes on when no server does.
    pub command: String,
    pub infer: StageTerms,
    pub eval: StageTerms,
    pub summary_groups: Vec<SummaryGroup>,
    /// The rows that its table shows; `None` shows all.
    #[serde(default)]
    pub summary_rows: Option<Vec<RowName>>,
    /// Requests that are not run.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// Placements that its models may run in, in the order of the plan's.
    #[serde(default)]
    pub placements: Vec<ModelPlacement>,
    /// Key that tells this submission from others of the same plan: submitted again under the same key, it is not run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Reason why nothing more of it is wanted.
    pub cancelled: Option<String>,
    pub ended: Option<Ended>,
}

impl JobRecord {
    /// Place of a server's keys in a store.
    pub const PLACE: &str = "serve";
    /// Place of its records below that.
    pub const KEYS: &str = "serve/jobs/";

    /// Returns the key of a job's record.
    pub fn key(job: &JobId) -> String {
        format!("{}{job}", Self::KEYS)
    }
}

/// The keys that bound the slots of a stage.
const MAX_NUM_WORKERS: &str = "`max_num_workers`";
const MAX_GPUS: &str = "`max_gpus`";

/// Partitioner of a stage, and the bounds within which it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageTerms {
    pub partitioner: PartitionerKind,
    /// Most slots at once; `None` takes what there are.
    pub slots: Option<u32>,
    /// The key or flag that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots_by: Option<String>,
    pub retry: u32,
}

/// Most slots at once, and the key or flag that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotBound {
    pub slots: u32,
    pub by: String,
}

/// End of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub exit_code: u8,
    /// Reason why it has no table; empty where it has one.
    pub reason: String,
    /// Advice on that reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    pub at: String,
    /// Counts of its last stage by then.
    pub recorded_samples: u64,
    pub expected_samples: u64,
    pub failed_tasks: u32,
}

impl Ended {
    /// Describes its end, in a sentence of which the job is the subject.
    pub fn in_words(&self, cancelled: Option<&str>) -> String {
        let Self { exit_code, recorded_samples, expected_samples, reason, .. } = self;
        let samples = match expected_samples {
            0 => String::new(),
            _ => format!(": {} of {} samples", grouped(*recorded_samples), grouped(*expected_samples)),
        };
        let cancelled = cancelled.map(|reason| format!("; cancelled: {reason}")).unwrap_or_default();
        let reason = if reason.is_empty() { String::new() } else { format!("; {reason}") };
        format!("ended with exit code {exit_code}{samples}{cancelled}{reason}")
    }

    /// Returns whether the host or a signal ended it, rather than the job: it can continue where it was.
    pub fn is_resumable(&self) -> bool {
        matches!(self.exit_code, exit::INFRASTRUCTURE | exit::LEADERSHIP_LOST | exit::INTERRUPTED | exit::TERMINATED)
    }
}

/// Returns the reason why a job has no table, from what is kept of it: `None` where it has one.
pub fn why_it_ended(reason: String, help: Option<String>) -> Option<Diagnostic> {
    let mut why = Diagnostic::error(reason);
    why.help = help;
    (!why.message.is_empty()).then_some(why)
}

impl StageTerms {
    fn of(config: &Config, stage: &StageConfig) -> Self {
        let bound = SlotBound::of(config, &stage.runner);
        let (slots, slots_by) = bound.map(|bound| (bound.slots, bound.by)).unzip();
        Self { partitioner: stage.partitioner.clone(), slots, slots_by, retry: stage.runner.retry }
    }

    /// Most slots at once, and what says so.
    pub fn bound(&self) -> Option<SlotBound> {
        // A client of an earlier version did not say which of the two it was.
        let by = self.slots_by.clone().unwrap_or_else(|| format!("{MAX_NUM_WORKERS} or {MAX_GPUS}"));
        self.slots.map(|slots| SlotBound { slots, by })
    }
}

impl JobRecord {
    /// The job that `config` and `request` describe, in a run folder that holds its plan.
    pub fn new(
        config: &Config,
        request: &JobRequest,
        run: &super::opening::OpenedRun,
        plan: Digest,
        priority: u32,
    ) -> Self {
        let absolute =
            |folder: &RunFolder| std::fs::canonicalize(folder.root()).unwrap_or_else(|_| folder.root().into());
        Self {
            plan,
            folder: absolute(&run.folder),
            earlier: run.earlier.as_ref().map(absolute),
            submitted: now(),
            priority,
            mode: request.mode,
            details: request.details == Details::Include,
            unsafe_local_exec: request.unsafe_local_exec,
            command: request.command.clone(),
            infer: StageTerms::of(config, &config.infer),
            eval: StageTerms::of(config, &config.eval),
            summary_groups: config.summary_groups.clone(),
            summary_rows: config.summary_rows.clone(),
            left_out: config.left_out.clone(),
            placements: config.models.iter().map(ModelPlacement::from).collect(),
            key: None,
            cancelled: None,
            ended: None,
        }
    }

    /// Returns the options of the request beside the configuration.
    pub fn request(&self) -> JobRequest {
        JobRequest {
            mode: self.mode,
            reuse: None,
            details: if self.details { Details::Include } else { Details::Omit },
            debug: false,
            unsafe_local_exec: self.unsafe_local_exec,
            served: true,
            written: None,
            status_file: None,
            command: self.command.clone(),
        }
    }
}

impl SlotBound {
    /// Most slots that a stage may have at once: of its own account, and for the GPUs that its replicas take.
    pub fn of(config: &Config, runner: &RunnerConfig) -> Option<Self> {
        let takes = config.models.iter().map(|model| model.num_gpus).max().unwrap_or(0);
        let by_gpus = runner.max_gpus.checked_div(takes).filter(|_| runner.max_gpus > 0);
        let by_gpus = by_gpus.map(|replicas| replicas.saturating_mul(runner.max_workers_per_gpu.max(1)));
        let bounds = [(runner.max_num_workers, MAX_NUM_WORKERS), (by_gpus, MAX_GPUS)];
        let bounds = bounds.into_iter().filter_map(|(slots, by)| Some(Self { slots: slots?, by: by.to_owned() }));
        bounds.min_by_key(|bound| bound.slots)
    }

    /// Returns the bound of a run that tries its set-up out.
    pub fn of_debug() -> Self {
        Self { slots: 1, by: "`--debug`".to_owned() }
    }
}

/// The time, as records, status and logs show it: UTC.
pub fn now() -> String {
    compass_common::log_time::log_time()
}
