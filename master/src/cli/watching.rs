//! `watch`: the flags beside those of a job.

use super::job_arguments::JobArguments;
use super::number::{above_zero, large_above_zero, within};
use crate::watch::order::Order;
use clap::Args;
use compass_config::Overrides;
use compass_diagnostic::Diagnostic;
use compass_jobs::Mode;
use compass_types::duration::{DURATION_HELP, parse_duration};
use compass_watch::{Pattern, Policy, pattern};
use std::path::PathBuf;
use std::time::Duration;

/// Jobs at a time with a server, where nothing else is said: it shares its workers among them.
const WITH_A_SERVER: usize = 2;

/// Which checkpoints are evaluated, and how.
#[derive(Debug, Args)]
pub struct WatchArguments {
    /// The folder in which checkpoints appear
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    #[command(flatten)]
    pub job: Box<JobArguments>,

    /// Which names in DIR are checkpoints: globs, several between `|`
    #[arg(long, value_name = "GLOBS", default_value = pattern::USUAL, help_heading = "Watch")]
    pub pattern: String,

    /// Only steps that are multiples of N; a name without a number is always taken
    #[arg(long, value_name = "N", help_heading = "Watch", value_parser = large_above_zero)]
    pub every: Option<u64>,

    /// The latest step first [default: the earliest]
    #[arg(long, help_heading = "Watch")]
    pub newest_first: bool,

    /// Where more than N checkpoints wait, skip the earliest [default: all are evaluated]
    #[arg(long, value_name = "N", help_heading = "Watch")]
    pub backlog: Option<usize>,

    /// For how long nothing of a checkpoint may have changed before it is read
    #[arg(long, value_name = "TIME", default_value = "60s", help_heading = "Watch", value_parser = duration)]
    pub stable: Duration,

    /// A file that the trainer writes last into every checkpoint, such as `.done`, or `latest_checkpointed_iteration.txt` beside
    /// them, which names the step that is saved; may be given several times
    #[arg(long, value_name = "FILE", help_heading = "Watch")]
    pub marker: Vec<String>,

    /// Look once, evaluate what is whole, print the table and end
    #[arg(long, help_heading = "Watch")]
    pub once: bool,

    /// Run the jobs in this process, one after the other, rather than hand them to a server
    #[arg(long, help_heading = "Watch", conflicts_with_all = ["jobs", "priority", "state_dir"])]
    pub here: bool,

    /// Most jobs at a time with the server [default: 2]
    #[arg(long, value_name = "N", help_heading = "Watch", value_parser = above_zero)]
    pub jobs: Option<u32>,

    /// The share of each job in the server's workers grows with it
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Watch",
          value_parser = within::<1, 1000>)]
    pub priority: u32,

    /// The state_dir of the server [default: the file's master.state_dir]
    #[arg(long, value_name = "DIR", help_heading = "Watch")]
    pub state_dir: Option<PathBuf>,
}

impl WatchArguments {
    /// Returns the order that is asked for.
    ///
    /// # Errors
    /// A flag that a watch has no use for, or a pattern that is not valid.
    pub fn order(&self) -> Result<Order, Diagnostic> {
        let job = &self.job;
        let useless = [
            (job.debug, "--debug", "each job says what it does in logs/watch.log of its run folder"),
            (job.estimate, "--estimate", "it starts nothing: compass-master --config ... --estimate"),
            (job.dry_run, "--dry-run", "it starts nothing: compass-master --config ... --dry-run"),
            (job.reuse.is_some(), "-r", "a watch goes on by itself: start it again with the same configuration"),
            (job.mode != Mode::All, "-m", "every checkpoint is evaluated whole"),
        ];
        if let Some((_, flag, help)) = useless.iter().find(|(given, ..)| *given) {
            return Err(Diagnostic::error(format!("`{flag}` is not for `watch`")).with_help(*help));
        }
        let pattern = Pattern::parse(&self.pattern).map_err(|error| Diagnostic::error(error.to_string()))?;
        let stable_ms = self.stable.as_millis() as u64;
        let jobs = self.jobs.map_or(WITH_A_SERVER, |jobs| jobs as usize);
        Ok(Order {
            folder: self.folder.clone(),
            pattern,
            markers: self.marker.clone(),
            policy: Policy {
                every: self.every,
                newest_first: self.newest_first,
                backlog: self.backlog,
                stable_ms,
                recheck_ms: stable_ms.clamp(1_000, 60_000),
                jobs: if self.here { 1 } else { jobs },
            },
            pause: Duration::from_millis((stable_ms / 12).clamp(100, 5_000)),
            once: self.once,
            here: self.here,
            priority: self.priority,
            config: job.config().map(PathBuf::from),
            overrides: Overrides { served: !self.here, ..job.overrides() },
            state_dir: self.state_dir.clone(),
            request: job.request(),
        })
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| DURATION_HELP.to_owned())
}
