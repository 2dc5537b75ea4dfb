//! The command line of `leaderboard`.

use clap::Args;
use std::path::PathBuf;

/// The step in the usual names of checkpoints.
pub const STEP: &str = r"(?:global_step|step|iter|checkpoint)[_-]?(\d+)";

/// Runs, and what is made of them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct LeaderboardArguments {
    /// Runs: their folders, or their names in the work_dir [default: every run in the work_dir]
    #[arg(value_name = "RUN")]
    pub runs: Vec<PathBuf>,

    /// Where runs are found by name, or all are taken [default: outputs/default]
    #[arg(long, short = 'w', value_name = "DIR")]
    pub work_dir: Option<PathBuf>,

    /// A regular expression whose first group is the step in the name of a model, in its path, or in that of its run
    #[arg(long, value_name = "REGEX", default_value = STEP)]
    pub step: String,

    /// Write a line for each number as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Write the board with its curves as one HTML file that loads nothing
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write an event file of TensorBoard into this folder
    #[arg(long, value_name = "DIR")]
    pub tensorboard: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  compass-master leaderboard                                    every run in outputs/default
  compass-master leaderboard out/a out/b out/c --csv board.csv  three runs
  compass-master leaderboard -w out --step 'ckpt-(\\d+)' --html curves.html --tensorboard tb";

impl LeaderboardArguments {
    /// Returns the folder in which runs are found.
    pub fn work_dir(&self) -> PathBuf {
        super::comparing::work_dir(self.work_dir.as_ref())
    }
}
