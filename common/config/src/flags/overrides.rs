//! Values that the command line puts over the file, as plain data.

use crate::report::environment::PythonWorld;
use compass_settings::Remote;
use std::path::PathBuf;

/// Values of flags; `None` leaves the file's word. Paths are relative to the current directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--models`: names, in order.
    pub models: Option<Vec<String>>,
    /// `--datasets`: names, in order.
    pub datasets: Option<Vec<String>>,
    /// `--summarizer`: a file of an OpenCompass tree, or its groups by name.
    pub summarizer: Option<String>,
    /// `--dataset-num-runs`: `n` and `k` of every data set that is generated.
    pub dataset_num_runs: Option<u32>,
    /// `-w/--work-dir`.
    pub work_dir: Option<PathBuf>,
    /// `--data-dir`.
    pub data_dir: Option<PathBuf>,
    /// `COMPASS_DATA_CACHE`, where `--data-dir` is not given: see [`DataCache`](crate::DataCache).
    pub data_cache: Option<PathBuf>,
    /// `--max-num-workers`: of both runners, and of the `num_worker` partitioner where the file gives it no number.
    pub max_num_workers: Option<u32>,
    /// `--max-partition-size`: selects the `size` partitioner for inference.
    pub max_partition_size: Option<u64>,
    /// `--gen-task-coef`: selects the `size` partitioner for inference.
    pub gen_task_coef: Option<u64>,
    /// `--max-workers-per-gpu`: of both runners.
    pub max_workers_per_gpu: Option<u32>,
    /// `--retry`: of both runners.
    pub retry: Option<u32>,
    /// `--max-gpus`: of the whole job.
    pub max_gpus: Option<u32>,
    /// `--slurm` and what belongs to it.
    pub slurm: SlurmFlags,
    /// `--dlc` and what belongs to it.
    pub dlc: DlcFlags,
    /// `--hf-path`: a model that the command line describes; the job has it alone.
    pub hf: Option<HfModel>,
    /// Flags over every model of the job.
    pub model: ModelFlags,
    /// The directory of the checkpoint that a configuration for many is used for: it stands in the place of `${checkpoint}`.
    pub checkpoint: Option<PathBuf>,
    /// `--custom-dataset-path`: a data set that the command line describes; the job has it alone.
    pub custom_dataset: Option<CustomDataset>,
    /// `--limit`: at most so many samples of each data set, the first ones of its range.
    pub limit: Option<u32>,
    /// `--dry-run`: nothing is started, so that models need not be where they are named.
    pub dry_run: bool,
    /// `-m eval` and `-m viz`: only results that a run has are scored, so that nothing that they were computed from need be
    /// there.
    pub scores_only: bool,
    /// `--skip-unsupported`: what is not served is left out instead of stopping the job.
    pub skip_unsupported: bool,
    /// Set if a server will run the job: pools that models name may be the server's.
    pub served: bool,
    /// Directory that `~` stands for, as a rule `HOME`.
    pub home: Option<PathBuf>,
    /// Places where configurations in Python find what they import.
    pub python: PythonWorld,
    /// The Hugging Face hub's local caches, as the environment names them; with none it lies under [`Self::home`].
    pub hub_caches: Vec<PathBuf>,
    /// Variables of the workers that the master starts on this host.
    pub local_environment: Vec<(String, String)>,
    /// Finds what is in object stores and on the hub.
    pub remote: Option<Remote>,
}

/// `--slurm`, `--partition`, `--quotatype`, `--qos`: of both runners.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlurmFlags {
    /// `--slurm`: both runners are of Slurm, whatever the file says.
    pub asked: bool,
    pub partition: Option<String>,
    pub quotatype: Option<String>,
    pub qos: Option<String>,
}

/// `--dlc`, `--aliyun-cfg`: of both runners.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DlcFlags {
    /// `--dlc`: both runners are of DLC, whatever the file says.
    pub asked: bool,
    /// The file with the jobs' settings.
    pub aliyun_cfg: Option<PathBuf>,
}

/// `--hf-path` and `--hf-type`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HfModel {
    pub path: String,
    pub kind: HfKind,
}

/// Use of the tokenizer's chat template for the prompts of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HfKind {
    /// Used if the tokenizer has one.
    #[default]
    Auto,
    Base,
    Chat,
}

/// Flags that hold for every model; what is `None` or empty leaves the file's word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelFlags {
    pub tokenizer_path: Option<String>,
    pub peft_path: Option<String>,
    pub max_seq_len: Option<u32>,
    pub max_out_len: Option<u32>,
    pub min_out_len: Option<u32>,
    /// A number, or `auto`.
    pub batch_size: Option<String>,
    /// `canonical`, `opencompass` or `lm-eval-hf`.
    pub profile: Option<String>,
    pub num_gpus: Option<u32>,
    /// `auto`, `cpu` or `cuda`.
    pub device: Option<String>,
    pub stop_words: Option<Vec<String>>,
    /// `k=v`, as they were typed.
    pub model_kwargs: Vec<(String, String)>,
    pub tokenizer_kwargs: Vec<(String, String)>,
    pub generation_kwargs: Vec<(String, String)>,
}

/// `--custom-dataset-*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CustomDataset {
    pub path: String,
    /// `mcq` or `qa`; by the columns unless told.
    pub data_type: Option<String>,
    /// `gen` or `ppl`; `gen` unless told.
    pub infer_method: Option<String>,
    /// Columns of the first row, in order; read by the caller, because nothing here opens data.
    pub columns: Option<Vec<String>>,
    /// The meta file beside the data, if there is one: its path, and its JSON or why it cannot be read.
    pub meta: Option<(String, Result<serde_json::Value, String>)>,
}
