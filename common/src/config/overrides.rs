//! What the command line says over the file, as plain data.

use std::path::PathBuf;

/// Values of flags; `None` leaves the file's word. Paths are relative to the current directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--models`: names, in order.
    pub models: Option<Vec<String>>,
    /// `--datasets`: names, in order.
    pub datasets: Option<Vec<String>>,
    /// `-w/--work-dir`.
    pub work_dir: Option<PathBuf>,
    /// `--data-dir`, or `COMPASS_DATA_CACHE`.
    pub data_dir: Option<PathBuf>,
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
    /// What `~` stands for, as a rule `HOME`.
    pub home: Option<PathBuf>,
    /// The Hugging Face hub's local cache: `HF_HUB_CACHE`, or `hub` in `HF_HOME`; otherwise it lies under [`Self::home`].
    pub hub_cache: Option<PathBuf>,
}
