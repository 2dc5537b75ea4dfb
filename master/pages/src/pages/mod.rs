//! Pages for people, in parts that an event replaces one by one: nothing is reloaded, so that fields keep what is typed.
//!
//! Names and texts come from configurations, workers and models: maud writes all of them as text.

mod job;
mod jobs;
mod layout;
mod logs;
mod part;
mod runs;
mod samples;
mod text;
mod why;

pub(super) use job::{Narrowed, job, job_parts};
pub(super) use jobs::{jobs, jobs_parts};
pub(super) use layout::{assets, layout};
pub(super) use logs::{log, logs};
pub(super) use part::{Part, changed};
pub(super) use runs::{report, run, runs};
pub(super) use samples::{failures, sample, samples};
pub(super) use why::why;
