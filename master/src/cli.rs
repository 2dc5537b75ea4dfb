//! The command line, with OpenCompass's names. Flags override the file.

use clap::{Parser, ValueEnum};
use compass_common::config::Overrides;
use std::path::PathBuf;

/// Exit codes: what a script can tell apart.
pub mod exit {
    /// Every sample is scored.
    pub const SCORED: u8 = 0;
    /// Something failed, or a metric was withheld.
    pub const INCOMPLETE: u8 = 1;
    /// Bad input: nothing was started.
    pub const BAD_INPUT: u8 = 2;
    /// Infrastructure: store, disk, workers. The run can be resumed.
    pub const INFRASTRUCTURE: u8 = 3;
    /// Another master leads.
    pub const LEADERSHIP_LOST: u8 = 4;
    /// Ctrl-C.
    pub const INTERRUPTED: u8 = 130;
    /// SIGTERM.
    pub const TERMINATED: u8 = 143;
}

/// Which stages run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Inference, then scores and the table.
    All,
    /// Inference alone.
    Infer,
    /// Scores and the table of a run that has its results (-r).
    Eval,
    /// The table of a run that has its results (-r).
    Viz,
}

/// Evaluate language models: plan every prompt, lease the work to workers, count every sample once, print the table.
#[derive(Debug, Parser)]
#[command(name = "compass-master", version, after_help = EXAMPLES)]
pub struct Cli {
    /// The job: models, data sets, partitioner, runner
    #[arg(long, short = 'c', value_name = "FILE")]
    pub config: PathBuf,

    /// Only these models, by abbr
    #[arg(long, num_args = 1.., value_name = "ABBR")]
    pub models: Option<Vec<String>>,

    /// Only these data sets, by abbr
    #[arg(long, num_args = 1.., value_name = "ABBR")]
    pub datasets: Option<Vec<String>>,

    /// Where run folders are made [default: the file's work_dir, else outputs/default]
    #[arg(long, short = 'w', value_name = "DIR")]
    pub work_dir: Option<PathBuf>,

    /// Where presets look for data
    #[arg(long, env = "COMPASS_DATA_CACHE", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,

    /// Resume a run: its name (YYYYmmdd_HHMMSS), or the latest when none is given. What is recorded is not run again
    #[arg(long, short = 'r', num_args = 0..=1, default_missing_value = "latest", value_name = "RUN")]
    pub reuse: Option<String>,

    /// Which stages to run
    #[arg(long, short = 'm', value_enum, default_value_t = Mode::All)]
    pub mode: Mode,

    /// Print the tasks and the commands that would be launched, and stop
    #[arg(long)]
    pub dry_run: bool,

    /// One slot in the foreground, with the worker's log on this terminal
    #[arg(long)]
    pub debug: bool,

    /// Replica slots of the job [default: what the cores allow]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_num_workers: Option<u32>,

    /// Most replicas that share a GPU
    #[arg(long, alias = "max-num-workers-per-gpu", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_workers_per_gpu: Option<u32>,

    /// Cost bound of a task; selects the `size` partitioner
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_partition_size: Option<u64>,

    /// How much dearer a generated sample is, for the `size` partitioner
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub gen_task_coef: Option<u64>,

    /// Tries that follow a failed one
    #[arg(long, value_name = "N")]
    pub retry: Option<u32>,
}

const EXAMPLES: &str = "\
Examples:
  compass-master --config eval.toml                       run a job to its table
  compass-master --config eval.toml --dry-run             what would run, and how
  compass-master --config eval.toml -r                    go on where the latest run stopped
  compass-master --config eval.toml -m eval -r 20260102_030405
                                                          score a run again
  compass-master --config eval.toml --datasets piqa_ppl --max-num-workers 4

With `[infer.runner] type = \"none\"` the master waits for workers that you start:
  compass-worker --master 127.0.0.1:50051

Exit codes: 0 all scored; 1 something failed or a metric was withheld; 2 bad input, nothing started;
3 infrastructure (resume with -r); 4 leadership lost; 130/143 interrupted (resume with -r).";

/// Flags and commands that are known by name and served by a later version.
const NOT_YET: &[(&str, &str)] = &[
    ("--slurm", "use [infer.runner] type = \"local\", or \"none\" and start compass-worker under srun yourself"),
    ("-p", "it belongs to --slurm"),
    ("--partition", "it belongs to --slurm"),
    ("-q", "it belongs to --slurm"),
    ("--quotatype", "it belongs to --slurm"),
    ("--qos", "it belongs to --slurm"),
    ("--dlc", "use [infer.runner] type = \"none\" and start compass-worker yourself"),
    ("--aliyun-cfg", "it belongs to --dlc"),
    ("--num-gpus", "set run_cfg.num_gpus of the model"),
    ("--max-gpus", "bound the replicas with --max-num-workers"),
    ("--hf-path", "write a [[model]] table with path"),
    ("--tokenizer-path", "write a [[model]] table with tokenizer_path"),
    ("--model-kwargs", "write a [[model]] table"),
    ("--tokenizer-kwargs", "write a [[model]] table"),
    ("--max-seq-len", "set max_seq_len of the model"),
    ("--max-out-len", "set max_out_len of the model or of the inferencer"),
    ("--batch-size", "sequences run one at a time"),
    ("--no-batch-padding", "there is no padding to switch off"),
    ("--limit", "set test_range = \"[:N]\" of the data set"),
    ("--custom-dataset-path", "write a [[dataset]] table"),
    ("serve", "run one job with --config"),
    ("submit", "run one job with --config"),
    ("status", "the run prints its progress"),
    ("cancel", "stop the run with Ctrl-C"),
    ("explain", "the log of the run says what it waits for"),
    ("datasets", "write [[dataset]] tables; deploy/demo/eval.toml shows three"),
    ("token", "masters listen on loopback only"),
];

/// The message for the first argument that a later version will serve, if there is one.
pub fn not_yet(arguments: &[String]) -> Option<String> {
    for (at, argument) in arguments.iter().enumerate().skip(1) {
        let name = argument.split('=').next().unwrap_or_default();
        // A word without dashes is a command only in first place; elsewhere it is some flag's value.
        let known = NOT_YET.iter().find(|(known, _)| *known == name && (name.starts_with('-') || at == 1));
        if let Some((name, instead)) = known {
            return Some(format!("error: `{name}` is not yet supported\n  = help: {instead}"));
        }
    }
    None
}

impl Cli {
    /// What the flags say about the configuration.
    pub fn overrides(&self) -> Overrides {
        Overrides {
            models: self.models.clone(),
            datasets: self.datasets.clone(),
            work_dir: self.work_dir.clone(),
            data_dir: self.data_dir.clone(),
            max_num_workers: self.max_num_workers,
            max_partition_size: self.max_partition_size,
            gen_task_coef: self.gen_task_coef,
            max_workers_per_gpu: self.max_workers_per_gpu,
            retry: self.retry,
            home: std::env::home_dir(),
            hub_cache: hub_cache(),
        }
    }
}

/// Where the environment says that the Hugging Face hub's cache is, as the hub's own library reads it.
fn hub_cache() -> Option<PathBuf> {
    let folder = |key| std::env::var_os(key).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = folder("HF_HUB_CACHE").or_else(|| folder("HUGGINGFACE_HUB_CACHE"));
    cache.or_else(|| folder("HF_HOME").map(|home| home.join("hub")))
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
        assert_eq!(cli.reuse.as_deref(), Some("latest"));
        assert_eq!(cli.overrides().models, Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(cli.max_workers_per_gpu, Some(2));
    }

    #[test]
    fn later_flags_are_refused_by_name() {
        assert!(not_yet(&words("m --config e.toml --slurm -p x")).unwrap().contains("`--slurm` is not yet supported"));
        assert!(not_yet(&words("m serve")).unwrap().contains("`serve`"));
        assert!(not_yet(&words("m --config e.toml --models serve status")).is_none());
    }
}
