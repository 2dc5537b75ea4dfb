//! Command-line flags of `--once`.

use crate::agent::ProgramPolicy;
use crate::engine_child::EngineOptions;
use clap::Args;
use compass_plan::partition::TaskName;
use std::path::PathBuf;

/// Flags in addition to those of every worker.
#[derive(Debug, Default, Args)]
pub(crate) struct OnceArgs {
    /// Run one task of a run folder without a master and print its results as JSON lines; the run folder does not
    /// change
    #[arg(long, requires_all = ["plan", "task"], conflicts_with = "master")]
    pub(crate) once: bool,
    /// With --once: the run folder, or a folder below its execution/ for model-written programs
    #[arg(long, value_name = "RUN_FOLDER", requires = "once")]
    plan: Option<PathBuf>,
    /// With --once: the task's number, as listed by `compass-master --config FILE -r RUN --dry-run`, or samples in the
    /// notation of that list: model/dataset[0..5,9]
    #[arg(long, value_name = "N", requires = "once")]
    task: Option<TaskName>,
    /// With --once: write the results to FILE instead of stdout
    #[arg(long, value_name = "FILE", requires = "once")]
    out: Option<PathBuf>,
}

/// Options of [`super::run()`].
#[derive(Clone, Debug)]
pub struct OnceOptions {
    /// The run folder.
    pub plan: PathBuf,
    pub task: TaskName,
    /// `None` is stdout.
    pub out: Option<PathBuf>,
    /// `auto`, `cpu` or `cuda:N`.
    pub device: String,
    /// Options of the engine.
    pub engine: EngineOptions,
    /// Permission for model-written programs to run.
    pub programs: ProgramPolicy,
}

impl OnceArgs {
    /// Returns the options; `None` without `--once`.
    pub(crate) fn options(self, device: String, engine: EngineOptions, programs: ProgramPolicy) -> Option<OnceOptions> {
        let (Some(plan), Some(task), true) = (self.plan, self.task, self.once) else { return None };
        Some(OnceOptions { plan, task, out: self.out, device, engine, programs })
    }
}
