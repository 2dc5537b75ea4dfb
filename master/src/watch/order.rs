//! Request of a person to a watch.

use compass_config::Overrides;
use compass_jobs::JobRequest;
use compass_watch::{Pattern, Policy};
use std::path::PathBuf;
use std::time::Duration;

/// Request of a person to a watch.
#[derive(Clone, Debug)]
pub struct Order {
    /// The folder in which checkpoints appear.
    pub folder: PathBuf,
    pub pattern: Pattern,
    /// Names of files that a trainer writes last.
    pub markers: Vec<String>,
    pub policy: Policy,
    /// Between two looks at the folder.
    pub pause: Duration,
    /// Set if it looks once and ends with the jobs that it began.
    pub once: bool,
    /// Set if jobs run in this process, rather than with a server.
    pub here: bool,
    /// The share of the jobs in a server's workers.
    pub priority: u32,
    /// The configuration of every job, but for the checkpoint.
    pub config: Option<PathBuf>,
    pub overrides: Overrides,
    /// The state folder of the server, where the configuration's is not meant.
    pub state_dir: Option<PathBuf>,
    pub request: JobRequest,
}
