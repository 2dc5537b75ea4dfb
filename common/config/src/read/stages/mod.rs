//! `[infer]` and `[eval]`: partitioners, and what launches workers.

pub(crate) mod aliyun;
pub(crate) mod command;
pub(crate) mod dlc;
pub(crate) mod partitioner;
pub(crate) mod runner;
pub(crate) mod slurm;
pub(crate) mod stage;
