//! The partitioner that a stage names.

use serde::{Deserialize, Serialize};

/// Way that chunks become tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionStrategy {
    /// Chunks are packed together.
    #[default]
    Heuristic,
    /// One task per chunk.
    Split,
}

/// The partitioners by OpenCompass's names, and ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PartitionerKind {
    /// One task per model and data set.
    Naive,
    /// Tasks of bounded cost.
    Size { max_task_size: u64, gen_task_coef: u64, strategy: PartitionStrategy },
    /// As many tasks per model as workers.
    NumWorker { num_worker: u32, num_split: Option<u32>, min_task_size: u32, strategy: PartitionStrategy },
    /// Contiguous pieces of even estimated cost, large first, small at the tail.
    Balanced,
}
