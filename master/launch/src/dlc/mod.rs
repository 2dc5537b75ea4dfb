//! The DLC launcher: workers as jobs of Alibaba's Deep Learning Center, by way of its command line `dlc`.
//!
//! `job_text` and `answer` are pure: what `dlc` is told, and what its answers say. `jobs` judges what a job's states come to.
//! `program` runs `dlc`, `launcher` puts them together.

mod answer;
mod job_text;
mod jobs;
mod launcher;
mod program;

pub use launcher::{DlcLauncher, DlcPlace};
