//! The command line of what is looked at: `view`, `viz`, `datasets`, `models`.

use clap::Args;
use compass_recorded::NameFilter;
use compass_recorded::arguments::filter;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The table of a run that has one, or a part of it.
#[derive(Debug, Args)]
pub struct VizArguments {
    /// The run: its name (YYYYmmdd_HHMMSS), or its folder [default: the latest that has a table]
    pub run: Option<String>,

    /// The configuration whose work_dir the run is in
    #[arg(long, short = 'c', value_name = "FILE", conflicts_with = "work_dir")]
    pub config: Option<PathBuf>,

    /// Where the run folders are [default: outputs/default]
    #[arg(long, short = 'w', value_name = "DIR")]
    pub work_dir: Option<PathBuf>,

    /// Only these models: a part of the name, or a pattern with `*`
    #[arg(long, num_args = 1.., value_name = "FILTER", value_parser = filter)]
    pub models: Vec<NameFilter>,

    /// Only these data sets and groups: a part of the name, or a pattern with `*`
    #[arg(long, num_args = 1.., value_name = "FILTER", value_parser = filter)]
    pub datasets: Vec<NameFilter>,

    /// Order the models by a data set, a group or `average`, or by the mean of a metric; the best first
    #[arg(long, value_name = "METRIC")]
    pub sort: Option<String>,

    /// As CSV, a line for each number
    #[arg(long)]
    pub csv: bool,
}

/// Pages of recorded runs.
#[derive(Debug, Args)]
#[command(after_help = VIEW_EXAMPLES)]
pub struct ViewArguments {
    /// Where the run folders are, or one of them [default: outputs/default]
    #[arg(value_name = "WORK_DIR")]
    pub work_dir: Option<PathBuf>,

    /// Where browsers find the pages; with port 0, on any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// A file whose first line opens the pages; needed where other hosts can reach them
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

const VIEW_EXAMPLES: &str = "Examples:
  compass-master view                    the runs in outputs/default, at http://127.0.0.1:8080/
  compass-master view out --listen 127.0.0.1:0
  ssh -L 8080:127.0.0.1:8080 HOST compass-master view out    from another host";

impl ViewArguments {
    /// Returns the folder in which the runs are.
    pub fn work_dir(&self) -> PathBuf {
        compass_recorded::arguments::work_dir(self.work_dir.as_ref())
    }
}
