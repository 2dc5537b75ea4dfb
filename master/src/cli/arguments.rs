//! The command line, with OpenCompass's names. Flags override the file.

use super::comparing::{CompareArguments, GateArguments};
use super::described::{CustomArguments, ModelArguments};
use super::filter::NameFilter;
use super::importing::{ImportArguments, loader};
use super::launching::LaunchArguments;
use super::missing_job::with_every_way;
use super::number::{above_zero, large_above_zero, whole, within};
use super::ranking::LeaderboardArguments;
use super::resuming::command_line;
use super::token::{TokenArguments, time_above_zero};
use super::viewing::{ViewArguments, VizArguments, filter};
use super::watching::WatchArguments;
use crate::job::{JobRequest, Mode};
use crate::remote_files::StoredFiles;
use clap::{Args, Parser, Subcommand};
use compass_config::{Overrides, PythonWorld, Remote};
use compass_eval::report::Details;
use compass_storage::{StorageArguments, Variables, hub};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Evaluate language models: plan every prompt, lease the work to workers, count every sample once, print the table.
#[derive(Debug, Parser)]
#[command(name = "compass-master", version = compass_cli::version(), after_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(flatten)]
    pub job: JobArguments,
}

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

/// Commands beside running a job.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Stay, and run the jobs that are submitted, side by side, on workers that they share
    Serve {
        /// Its [master] and [infer.runner] count: addresses, state_dir, which workers are launched and how many
        #[arg(long, short = 'c', value_name = "FILE")]
        config: Option<PathBuf>,
        /// A small JSON file with the state of the server and its jobs, replaced whole every few seconds and at the end
        #[arg(long, value_name = "FILE")]
        status_file: Option<PathBuf>,
    },
    /// Hand a job to the server of its state_dir; it takes the flags with which a job is run
    Submit {
        #[command(flatten)]
        job: Box<JobArguments>,
        /// Its share of the workers grows with it
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = within::<1, 1000>)]
        priority: u32,
        /// Stay until the job ends, with its table and its exit code
        #[arg(long)]
        wait: bool,
        /// The state_dir of the server [default: the file's master.state_dir]
        #[arg(long, value_name = "DIR")]
        state_dir: Option<PathBuf>,
    },
    /// Evaluate the checkpoints of a training run as they appear, one job for each, and draw the curve
    Watch(Box<WatchArguments>),
    /// What runs on this host, and how far it is; with JOB, that job with its workers
    Status {
        /// The id of a job or the beginning of it, or the name of its run
        job: Option<String>,
        /// For programs
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: StateArguments,
    },
    /// Grant nothing more of a job; what is recorded stays, and is scored
    Cancel {
        /// The id of a job or the beginning of it, or the name of its run [default: the only one that runs]
        job: Option<String>,
        /// Reason, shown next to every missing result
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        #[command(flatten)]
        place: StateArguments,
    },
    /// Why nothing more is running, in words: of the newest job that runs, or of what is named
    #[command(args_conflicts_with_subcommands = true)]
    Explain {
        #[command(subcommand)]
        about: Option<Explain>,
        #[command(flatten)]
        place: StateArguments,
    },
    /// Write a configuration of OpenCompass as TOML: what was understood of it, with the place of each part
    Convert {
        #[command(flatten)]
        job: Box<JobArguments>,
        /// The file to write, which must not be there yet [default: standard output]
        #[arg(long, short = 'o', value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// The table of a run as it was last written, or a part of it; it needs neither the configuration nor the store
    Viz(VizArguments),
    /// How two runs differ, question by question: intervals, tests, and which of the two is better where
    Compare(Box<CompareArguments>),
    /// Whether a candidate may replace a baseline, by the rules of a policy: go, no-go, or cannot tell
    Gate(Box<GateArguments>),
    /// Many runs by many data sets: intervals, tiers of what is tied, curves over checkpoints, signal to noise
    Leaderboard(Box<LeaderboardArguments>),
    /// Show recorded runs in a browser: tables, samples, failures
    View(ViewArguments),
    /// List the models that come by name, with the repositories of the hub that they stand for
    Models {
        /// Only these: parts of names, or patterns with `*`
        #[arg(value_name = "FILTER", value_parser = filter)]
        filters: Vec<NameFilter>,
    },
    /// Make, list and revoke the tokens with which workers of other hosts join
    Token(TokenArguments),
    /// List the data sets that ship with the program; with the NAME of one, its files and one rendered sample
    Datasets {
        /// A preset, by any of its names; or parts of names, or patterns with `*`, for a shorter list
        #[arg(value_name = "NAME", value_parser = filter)]
        names: Vec<NameFilter>,
        /// The folder with the data sets [default: `data` in the folder that the environment's COMPASS_DATA_CACHE names,
        /// else here]
        #[arg(long, value_name = "DIR")]
        data_dir: Option<PathBuf>,
    },
    #[command(flatten)]
    Generated(compass_cli::Generated),
}

/// What is to be explained.
#[derive(Debug, Subcommand)]
pub enum Explain {
    /// A job: what it waits for, and what its share of the workers is
    Job {
        /// The id of a job or the beginning of it, or the name of its run [default: the newest that runs]
        job: Option<String>,
        #[command(flatten)]
        place: StateArguments,
    },
    /// A task: where it stands, and why
    Task {
        /// Its number
        task: u32,
        /// The id of its job or the beginning of it, or the name of its run [default: the newest that runs]
        #[arg(long)]
        job: Option<String>,
        #[command(flatten)]
        place: StateArguments,
    },
    /// A worker: what it holds, and why it gets nothing more
    Worker {
        /// Its name
        worker: String,
        #[command(flatten)]
        place: StateArguments,
    },
}

/// Which masters are meant.
#[derive(Debug, Args)]
pub struct StateArguments {
    /// The configuration whose master.state_dir the masters have
    #[arg(long, short = 'c', value_name = "FILE", conflicts_with = "state_dir")]
    pub config: Option<PathBuf>,
    /// Their state_dir itself [default: ~/.local/state/compass]
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  compass-master --config eval.toml                       run a job to its table
  compass-master --config eval.toml --dry-run             what would run, and how
  compass-master --config eval.toml -r                    go on where the latest run stopped
  compass-master --config eval.toml -m eval -r 20260102_030405
                                                          score a run again
  compass-master eval_xxx.py --slurm -p llmeval           a configuration of OpenCompass, as it is
  compass-master convert eval_xxx.py -o eval.toml         the same configuration as TOML
  compass-master eval_xxx.py --python ENV/bin/python      rows that nothing else reads, from OpenCompass's own loaders
  compass-master --config eval.toml --datasets piqa_ppl --max-num-workers 4
  compass-master --hf-path models/llama-7b --datasets piqa_ppl hellaswag_ppl --data-dir data --limit 100
  compass-master datasets mmlu                            the data sets that are included, those called so
  compass-master viz --datasets mmlu* --sort average      a part of the latest table, the best models first
  compass-master compare 20260101_030000 20260102_030000  how two runs differ, question by question
  compass-master gate --baseline A --candidate B --policy gate.toml
                                                          whether B may replace A
  compass-master serve                                    stay, and take jobs from now on:
  compass-master submit --config eval.toml --wait         run one there, to its table
  compass-master watch run/checkpoints --config eval.toml evaluate every checkpoint there as it appears
  compass-master status                                   what runs, and how far it is
  compass-master explain                                  why nothing more is running

With `[infer.runner] type = \"none\"` the master waits for workers that you start:
  compass-worker --master 127.0.0.1:50051

Exit codes: 0 all scored; 1 something failed or a metric was withheld; 2 bad input, nothing started;
3 infrastructure (resume with -r); 4 leadership lost; 130/143 interrupted (resume with -r).";

impl Cli {
    /// Reads the command line of this process; what is wrong with it ends the process.
    pub fn of_process() -> Self {
        Self::try_parse().unwrap_or_else(|error| with_every_way(error).exit())
    }
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

    /// What results documents hold.
    pub fn details(&self) -> Details {
        if self.dump_eval_details.eq_ignore_ascii_case("false") { Details::Omit } else { Details::Include }
    }

    /// The file that describes the job, by either way to name it.
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref().or(self.script.as_deref())
    }

    /// What they ask of the job beside its configuration.
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

    /// What the flags say about the configuration.
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
    /// Where configurations in Python find what they import.
    fn python(&self) -> PythonWorld {
        PythonWorld {
            opencompass: self.opencompass.clone(),
            interpreter: self.import.python.clone(),
            network: self.import.python_network,
            ..python_without_flags()
        }
    }
}

/// What the environment says of Python.
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

/// What a command without the flags of a job reads a configuration with: where the environment says that things are.
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

/// Where the environment says that OpenCompass's data is.
pub fn data_cache() -> Option<PathBuf> {
    std::env::var_os("COMPASS_DATA_CACHE").filter(|value| !value.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
        let cli = Cli::parse_from(words("m --config e.toml -r --models a b --max-num-workers-per-gpu 2"));
        assert_eq!(cli.job.reuse.as_deref(), Some("latest"));
        assert_eq!(cli.job.overrides().models, Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!((cli.job.max_workers_per_gpu, cli.job.details()), (Some(2), Details::Include));
        let details = |line: &str| Cli::parse_from(words(line)).job.details();
        assert_eq!(details("m --config e.toml --dump-eval-details False"), Details::Omit);
        assert_eq!(details("m --config e.toml --dump-eval-details --debug"), Details::Include);
    }

    #[test]
    fn flags_that_launch_are_known_by_their_names() {
        let given = |line: &str| Cli::parse_from(words(line)).job.launching_flags().collect::<Vec<_>>();
        assert_eq!(given("m -c e.toml --max-num-workers 2 --max-gpus 4 --max-workers-per-gpu 2 --retry 1"), [""; 0]);
        assert_eq!(
            given("m -c e.toml --slurm -p x -q auto --qos high"),
            ["--slurm", "--partition", "--quotatype", "--qos"]
        );
        assert_eq!(given("m -c e.toml --dlc --aliyun-cfg f"), ["--dlc", "--aliyun-cfg"]);
        let known = Cli::command();
        let known: Vec<&str> = known.get_arguments().filter_map(|argument| argument.get_long()).collect();
        let all = given("m -c e.toml --slurm -p x -q auto --qos high --aliyun-cfg f");
        assert!(all.iter().all(|flag| known.contains(&flag.trim_start_matches("--"))), "{all:?}");
    }

    #[test]
    fn the_seeds_flags_as_they_are_typed() {
        let line = "m --datasets siqa_gen winograd_ppl --hf-path facebook/opt-125m --tokenizer-path t \
                    --tokenizer-kwargs padding_side=left truncation=left trust_remote_code=True \
                    --model-kwargs device_map=auto --max-seq-len 2048 --max-out-len 100 --batch-size 128 --num-gpus 1";
        let cli = Cli::try_parse_from(line.split_whitespace()).unwrap();
        let overrides = cli.job.overrides();
        assert_eq!(overrides.hf.unwrap().path, "facebook/opt-125m");
        assert_eq!((overrides.model.max_seq_len, overrides.model.num_gpus), (Some(2048), Some(1)));
        assert_eq!(overrides.model.tokenizer_kwargs[2], ("trust_remote_code".to_owned(), "True".to_owned()));
        let lone = Cli::try_parse_from(words("m --model-kwargs device_map")).unwrap_err().to_string();
        assert!(lone.contains("write key=value"), "{lone}");
        assert!(Cli::try_parse_from(words("m --datasets piqa_ppl")).is_err(), "no model is named");
        let deadline = |time: &str| Cli::try_parse_from(["m", "-c", "e.toml", "--estimate", "--deadline", time]);
        let seconds = |time: &str| deadline(time).unwrap().job.deadline.unwrap().as_secs();
        assert_eq!([seconds("90m"), seconds("1h30m"), seconds("1h 30m")], [5_400; 3]);
        let negative = deadline("-1h").unwrap_err().to_string();
        assert!(negative.contains("write a number and s, m, h or d"), "{negative}");
        assert!(Cli::try_parse_from(words("m datasets piqa_ppl")).unwrap().command.is_some());
    }

    #[test]
    fn commands_to_a_master() {
        let submitted = Cli::parse_from(words("m submit --config e.toml --models a b --priority 3 --wait")).command;
        let Some(Command::Submit { job, priority, wait, .. }) = submitted else { unreachable!("{submitted:?}") };
        assert_eq!((job.models.as_deref().map(<[String]>::len), priority, wait), (Some(2), 3, true));
        assert!(Cli::try_parse_from(words("m submit --priority 0 --config e.toml")).is_err());
        assert!(Cli::try_parse_from(words("m submit")).is_err(), "no job is described");
        let negative = Cli::try_parse_from(words("m compare a b --margin -1")).unwrap_err().to_string();
        assert!(negative.contains("write a number of points, 0 or more"), "{negative}");
        let explained = Cli::parse_from(words("m explain task 7 --job 3f2a")).command;
        assert!(matches!(explained, Some(Command::Explain { about: Some(Explain::Task { task: 7, .. }), .. })));
        for line in ["m explain", "m explain -c eval.toml", "m explain job 3f2a --state-dir s"] {
            assert!(Cli::try_parse_from(words(line)).is_ok(), "{line}");
        }
        assert!(Cli::try_parse_from(words("m status --state-dir x --config y")).is_err(), "one place is enough");
    }
}
