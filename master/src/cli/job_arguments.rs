//! The flags of a job, over its configuration.

use super::described::{CustomArguments, ModelArguments};
use super::importing::{ImportArguments, loader};
use super::launching::LaunchArguments;
use super::number::{above_zero, large_above_zero, whole, within};
use super::resuming::command_line;
use super::token::time_above_zero;
use crate::remote_files::StoredFiles;
use clap::Args;
use compass_config::{Overrides, PythonWorld};
use compass_eval::report::Details;
use compass_jobs::{JobRequest, Mode};
use compass_settings::Remote;
use compass_storage::{StorageArguments, Variables, hub};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A job: its configuration, and flags over it.
#[derive(Debug, Args)]
pub struct JobArguments {
    /// The job: models, data sets, partitioner, runner, as TOML, or as OpenCompass has it in Python. Flags override it;
    /// without it, flags say everything
    #[arg(long, short = 'c', value_name = "FILE", required_unless_present_any = ["script", "hf_path", "models"])]
    pub config: Option<PathBuf>,

    /// The same without `--config`: `compass-master eval.py`
    #[arg(value_name = "CONFIG", conflicts_with = "config", value_parser = configuration)]
    pub script: Option<PathBuf>,

    /// Where a configuration in Python finds `opencompass.configs`: the folder that holds the package, or a clone of its
    /// repository [default: beside the file, above it, in the active Python environment]
    #[arg(long, value_name = "DIR")]
    pub opencompass: Option<PathBuf>,

    /// Only these models, by abbr; or models that come by name (`compass-master models` lists them), or by the name of a file of
    /// an OpenCompass tree
    #[arg(long, num_args = 1.., value_name = "ABBR")]
    pub models: Option<Vec<String>>,

    /// Only these data sets, by abbr, or presets by name (`compass-master datasets` lists them), or by the name of a file of an
    /// OpenCompass tree, as NAME or NAME/SUFFIX
    #[arg(long, num_args = 1.., value_name = "NAME")]
    pub datasets: Option<Vec<String>>,

    /// Which rows the table shows: a file of an OpenCompass tree (`configs/summarizers`), as NAME or NAME/KEY, or OpenCompass's
    /// groups by name
    #[arg(long, value_name = "NAME")]
    pub summarizer: Option<String>,

    /// Runs of everything that is generated: `n` and `k` of every data set
    #[arg(long, value_name = "N", value_parser = above_zero)]
    pub dataset_num_runs: Option<u32>,

    /// Where run folders are made [default: the file's work_dir, else outputs/default]
    #[arg(long, short = 'w', value_name = "DIR")]
    pub work_dir: Option<PathBuf>,

    /// The folder with the data sets, where presets look [default: `data` in the folder that the environment's
    /// COMPASS_DATA_CACHE names, else here]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,

    #[command(flatten)]
    pub storage: StorageArguments,

    /// Resume a run: its name (YYYYmmdd_HHMMSS), or the latest when none is given. What is recorded is not run again
    #[arg(long, short = 'r', num_args = 0..=1, default_missing_value = "latest", value_name = "RUN")]
    pub reuse: Option<String>,

    /// Which stages to run
    #[arg(long, short = 'm', value_enum, default_value_t = Mode::All)]
    pub mode: Mode,

    /// Print the tasks and the commands that would be launched, and stop
    #[arg(long)]
    pub dry_run: bool,

    /// Print what the job will take, by what earlier runs took, and stop: tokens, time, GPU hours; with -r, of what that run has
    /// not recorded; after `submit`, on the workers that the server has now
    #[arg(long, conflicts_with = "dry_run")]
    pub estimate: bool,

    /// With --estimate: GPUs that it will have [default: what would be launched]
    #[arg(long, value_name = "N", requires = "estimate", value_parser = within::<1, 100_000>)]
    pub gpus: Option<u32>,

    /// With --estimate: when it must be through; says how many GPUs that needs
    #[arg(long, value_name = "TIME", requires = "estimate", value_parser = time_above_zero, allow_hyphen_values = true)]
    pub deadline: Option<std::time::Duration>,

    /// A small JSON file with the state of the run, replaced whole every few seconds and at the end: for cron and monitoring
    #[arg(long, value_name = "FILE")]
    pub status_file: Option<PathBuf>,

    /// One slot in the foreground, with the worker's log on this terminal
    #[arg(long)]
    pub debug: bool,

    /// Replica slots of the job [default: what the cores allow]
    #[arg(long, value_name = "N", value_parser = above_zero)]
    pub max_num_workers: Option<u32>,

    /// Most replicas that share a GPU
    #[arg(long, alias = "max-num-workers-per-gpu", value_name = "N", value_parser = above_zero)]
    pub max_workers_per_gpu: Option<u32>,

    /// Cost bound of a task; selects the `size` partitioner
    #[arg(long, value_name = "N", value_parser = large_above_zero)]
    pub max_partition_size: Option<u64>,

    /// Cost multiplier for generation samples, for the `size` partitioner
    #[arg(long, value_name = "N", value_parser = large_above_zero)]
    pub gen_task_coef: Option<u64>,

    /// Tries that follow a failed one, of a task and of a launch: a task that failed more often fails, a launcher whose workers
    /// ended early more often in a row is given up. Trouble of a node, a lost worker and a preemption are not counted
    /// [default: 2; of launches what is usual for the launcher]
    #[arg(long, value_name = "N", value_parser = whole)]
    pub retry: Option<u32>,

    /// Whether results/ holds a line for every sample: its prediction, its reference, whether it is right. The metrics, the
    /// counts and the samples that failed stand there in any case
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_value = "true", default_missing_value = "true",
          value_parser = ["true", "True", "false", "False"])]
    pub dump_eval_details: String,

    /// Where no sandbox works, let local workers run programs that a model wrote as plain processes: they can do all that
    /// you can
    #[arg(long)]
    pub unsafe_local_exec: bool,

    /// At most N samples of each data set, the first ones of its range
    #[arg(long, value_name = "N", value_parser = above_zero)]
    pub limit: Option<u32>,

    /// Leave out data sets and models that are not served (a loader class, an evaluator, an API model) and run the rest.
    /// They are named below the table, and the exit code is 1. Missing data of a preset stops the job all the same
    #[arg(long)]
    pub skip_unsupported: bool,

    #[command(flatten)]
    pub import: ImportArguments,

    #[command(flatten)]
    pub launch: LaunchArguments,

    #[command(flatten)]
    pub model: ModelArguments,

    #[command(flatten)]
    pub custom: CustomArguments,
}

impl JobArguments {
    /// The flags given that say by what workers are launched, and how; not those that bound the job.
    pub fn launching_flags(&self) -> impl Iterator<Item = &'static str> + use<> {
        let launch = &self.launch;
        let flags = [
            (launch.slurm, "--slurm"),
            (launch.partition.is_some(), "--partition"),
            (launch.quotatype.is_some(), "--quotatype"),
            (launch.qos.is_some(), "--qos"),
            (launch.dlc, "--dlc"),
            (launch.aliyun_cfg.is_some(), "--aliyun-cfg"),
        ];
        flags.into_iter().filter(|(given, _)| *given).map(|(_, flag)| flag)
    }

    /// Returns the contents of results documents.
    pub fn details(&self) -> Details {
        if self.dump_eval_details.eq_ignore_ascii_case("false") { Details::Omit } else { Details::Include }
    }

    /// The file that describes the job, by either way to name it.
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref().or(self.script.as_deref())
    }

    /// Returns what they ask of the job beside its configuration.
    pub fn request(&self) -> JobRequest {
        JobRequest {
            mode: self.mode,
            reuse: self.reuse.clone(),
            details: self.details(),
            debug: self.debug,
            unsafe_local_exec: self.unsafe_local_exec,
            served: false,
            written: None,
            status_file: self.status_file.clone(),
            command: command_line(std::env::args()),
        }
    }

    /// Returns what the flags say about the configuration.
    pub fn overrides(&self) -> Overrides {
        Overrides {
            served: false,
            dry_run: self.dry_run || self.estimate,
            scores_only: matches!(self.mode, Mode::Eval | Mode::Viz),
            skip_unsupported: self.skip_unsupported,
            models: self.models.clone(),
            datasets: self.datasets.clone(),
            summarizer: self.summarizer.clone(),
            dataset_num_runs: self.dataset_num_runs,
            work_dir: self.work_dir.clone(),
            data_dir: self.data_dir.clone(),
            data_cache: data_cache(),
            max_num_workers: self.max_num_workers,
            max_partition_size: self.max_partition_size,
            gen_task_coef: self.gen_task_coef,
            max_workers_per_gpu: self.max_workers_per_gpu,
            retry: self.retry,
            max_gpus: self.launch.max_gpus,
            slurm: self.launch.slurm_flags(),
            dlc: self.launch.dlc_flags(),
            hf: self.model.hf(),
            model: self.model.flags(),
            checkpoint: None,
            custom_dataset: self.custom.dataset(),
            limit: self.limit,
            home: std::env::home_dir(),
            python: self.python(),
            hub_caches: hub::caches(&Variables::of_process()),
            local_environment: self.storage.variables(),
            remote: Some(Remote(Arc::new(StoredFiles::new(self.storage.options())))),
        }
    }
}

impl JobArguments {
    /// Returns the world in which configurations in Python find what they import.
    fn python(&self) -> PythonWorld {
        PythonWorld {
            opencompass: self.opencompass.clone(),
            interpreter: self.import.python.clone(),
            network: self.import.python_network,
            ..python_without_flags()
        }
    }
}

/// Reads what the environment says of Python.
fn python_without_flags() -> PythonWorld {
    let folder = |key| std::env::var_os(key).filter(|value| !value.is_empty()).map(PathBuf::from);
    PythonWorld {
        environments: ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(folder).collect(),
        variables: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        loader: loader(std::env::home_dir()),
        ..PythonWorld::default()
    }
}

/// Returns the overrides with which a command without the flags of a job reads a configuration: the environment says where things are.
pub fn without_flags() -> Overrides {
    let storage = StorageArguments::default();
    Overrides {
        dry_run: true,
        data_cache: data_cache(),
        home: std::env::home_dir(),
        python: python_without_flags(),
        hub_caches: hub::caches(&Variables::of_process()),
        remote: Some(Remote(Arc::new(StoredFiles::new(storage.options())))),
        ..Overrides::default()
    }
}

/// A word of the command line that is no command: the file of a job.
fn configuration(word: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(word);
    let is_named =
        path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("py") || kind.eq_ignore_ascii_case("toml"));
    if is_named || path.is_file() {
        return Ok(path);
    }
    Err("no such command, and no configuration (a .toml or a .py file)".to_owned())
}

/// Returns the folder in which OpenCompass's data is, as the environment says.
pub fn data_cache() -> Option<PathBuf> {
    std::env::var_os("COMPASS_DATA_CACHE").filter(|value| !value.is_empty()).map(PathBuf::from)
}
