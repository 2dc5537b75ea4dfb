//! Launchers of workers: the settings of each launcher, and of pools, once checked.

use compass_types::path_rules::map_path;
use serde::Serialize;
use std::path::PathBuf;

/// The launchers, with what each is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunnerKind {
    /// Workers are processes on this host.
    #[default]
    Local,
    Slurm(SlurmConfig),
    Dlc(Box<DlcConfig>),
    /// Workers are started by a command of the user's.
    Command(CommandConfig),
    /// Nothing is launched; workers are started by hand.
    None,
}

impl RunnerKind {
    /// Its name in configurations.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Slurm(_) => "slurm",
            Self::Dlc(_) => "dlc",
            Self::Command(_) => "command",
            Self::None => "none",
        }
    }

    /// Returns `true` if its workers may run on other hosts than the master's.
    pub fn is_remote(&self) -> bool {
        !matches!(self, Self::Local)
    }
}

/// Returns `true` if workers may come from other hosts: pools take the place of the runner.
pub fn come_from_elsewhere(runner: &RunnerKind, pools: &[PoolConfig]) -> bool {
    if pools.is_empty() { runner.is_remote() } else { pools.iter().any(|pool| pool.runner.is_remote()) }
}

/// `type = "slurm"`: jobs of `sbatch`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SlurmConfig {
    pub partition: Option<String>,
    /// The option that some sites add to Slurm: `--quotatype`.
    pub quotatype: Option<String>,
    pub qos: Option<String>,
    /// Further arguments of `sbatch`, as they are.
    pub extra_command: Vec<String>,
    /// Folder for the output of its jobs, which this host and every node reach; `None` for the folder of the run, and nowhere where
    /// there is no run folder.
    pub log_dir: Option<PathBuf>,
}

/// `type = "dlc"`: jobs of Alibaba's `dlc`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DlcConfig {
    pub aliyun: AliyunConfig,
    /// Set if jobs of higher priority may take the place of these.
    pub preemptible: bool,
}

/// `type = "command"`: a template of the user's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CommandConfig {
    pub pieces: Vec<CommandPiece>,
    /// Set if the command passes its standard input on to the worker, which then ends when the master does.
    pub pipe: bool,
}

/// A piece of a command's template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandPiece {
    /// Shell, as it is.
    Shell(String),
    /// The worker's command line: words of a shell.
    TaskCommand,
    /// The same as a single word, for whatever hands it to a second shell.
    TaskWord,
    /// GPUs of a job.
    Gpus,
    /// The job's name.
    Name,
}

/// A `[[pool]]`: workers that are launched in one way, in one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PoolConfig {
    pub name: String,
    pub runner: RunnerKind,
    /// Other names by which a model may ask for it.
    pub labels: Vec<String>,
    /// Replica slots at most; `None` leaves it to the job's bounds.
    pub max_num_workers: Option<u32>,
    /// Replica slots that stay while the job lasts, idle or not.
    pub min_num_workers: u32,
    /// GPUs at most; 0 for no bound.
    pub max_gpus: u32,
    /// Prefixes of model paths, and what stands in their place here; the longest that fits counts.
    pub paths: Vec<(String, String)>,
    /// Variables that its workers' environment gets.
    pub environment: Vec<(String, String)>,
    /// Set if its workers begin samples that were granted while no master answers.
    pub offline_continue: bool,
    /// The worker's program there; `None` takes the one that this host has.
    pub worker: Option<PathBuf>,
}

impl PoolConfig {
    /// Returns `true` if a model that asks for the pools `wanted` may run here; one that names none runs anywhere.
    pub fn takes(&self, wanted: &[String]) -> bool {
        wanted.is_empty() || wanted.iter().any(|name| *name == self.name || self.labels.contains(name))
    }

    /// A path as this pool has it.
    pub fn map_path(&self, path: &str) -> Option<String> {
        map_path(&self.paths, path)
    }
}

/// Keys of `aliyun_cfg`: how a job of Alibaba's Deep Learning Center (DLC) is made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AliyunConfig {
    /// Preparation of the job's shell, which decides where Python and its like come from.
    pub environment: JobEnvironment,
    /// Configuration file of `dlc` on this host; `None` leaves it to `dlc`.
    pub dlc_config_path: Option<PathBuf>,
    pub workspace_id: String,
    /// Empty: the workspace's own.
    pub resource_id: String,
    pub worker_image: String,
    pub data_sources: Vec<String>,
    pub huggingface_cache: Option<String>,
    pub torch_cache: Option<String>,
    pub hf_offline: bool,
    pub http_proxy: Option<String>,
    pub hf_endpoint: Option<String>,
    /// `NAME=value`, in which `$OTHER` stands for another variable of the job.
    pub extra_envs: Vec<(String, String)>,
    /// A file of the job that sets that no other user may read.
    pub env_file: Option<String>,
    /// 1 to 9.
    pub priority: u32,
    /// At least so many, and 8 for each GPU.
    pub worker_cpu: u32,
    /// At least so many GiB, and 128 for each GPU.
    pub worker_memory: u32,
    pub job_command: DlcCommand,
    /// Seconds between two looks at the jobs.
    pub sleep_seconds: u32,
    /// Run in the job before everything else, as it is.
    pub pre_cmd: Option<String>,
    /// `compass-worker` as the job sees it; `None` is this host's own, on a file system that both share.
    pub worker_path: Option<String>,
    /// The join token as the job sees it.
    pub token_file: Option<String>,
}

/// The preparation of the job's shell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobEnvironment {
    /// Sources the file, then `conda activate`.
    Conda { bashrc: String, name: String },
    /// Its `bin` comes first on PATH.
    Python { path: String },
    /// As the image has it.
    #[default]
    Image,
}

/// Form of `dlc`, of two, that this site has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DlcCommand {
    /// `dlc submit pytorchjob`.
    #[default]
    Submit,
    /// `dlc create job --kind PyTorchJob`.
    Create,
}
