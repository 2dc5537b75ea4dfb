//! The command line, with OpenCompass's names. Flags override the file.

use super::job_arguments::JobArguments;
use super::missing_job::with_every_way;
use super::number::within;
use super::token::TokenArguments;
use super::viewing::{ViewArguments, VizArguments};
use super::watching::WatchArguments;
use clap::{Args, Parser, Subcommand};
use compass_recorded::arguments::filter;
use compass_recorded::{CompareArguments, GateArguments, LeaderboardArguments, NameFilter, WhyArguments};
use std::path::PathBuf;

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
    /// The reasons for a score: the answers of a run by what became of them, and some of each class
    Why(WhyArguments),
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use compass_eval::report::Details;

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
