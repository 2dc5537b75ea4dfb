//! View of the run from outside, as a whole and at one moment: everything that the page, `/metrics` and `status` show
//! is made from it.

use super::live_metric::{LiveMetric, scores};
use compass_plan::engine::TokenCounters;
use compass_scheduler::Shortage;
use serde::Serialize;
use std::time::Instant;

/// One moment of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunView {
    /// Name of the run folder.
    pub run: String,
    /// Digest of the plan.
    pub job: String,
    pub epoch: u64,
    /// Seconds that masters have led the run, this one among them.
    pub seconds: f64,
    pub expected_samples: u64,
    pub recorded_samples: u64,
    /// Samples that failed: with a result that says so, or given up.
    pub failed_samples: u64,
    /// Failed samples of tasks that were given up: nothing more is waited for.
    pub given_up_samples: u64,
    /// Recorded samples that earlier leaders recorded.
    pub resumed_samples: u64,
    /// Samples recorded in a second, of late.
    pub samples_per_second: f64,
    /// Tokens computed and generated in a second, of late.
    pub tokens_per_second: f64,
    /// Tasks that are neither done nor failed, those granted among them.
    pub open_tasks: u32,
    pub granted_tasks: u32,
    /// Tasks that were given up, and those of which samples failed.
    pub failed_tasks: u32,
    pub slots: u32,
    /// Grants that followed a failed or lost one.
    pub retries: u64,
    /// Results that came again, equal, to this master.
    pub repeats: u64,
    /// Results that came again and differed.
    pub divergences: u64,
    /// Rules of the scheduler found broken: above 0 something is wrong with Compass itself.
    pub violations: u64,
    pub tokens: TokenCounters,
    pub workers: Vec<WorkerView>,
    /// By the models' order in the job; those of which nothing was reported are not there.
    pub models: Vec<ShardTotals>,
    #[serde(skip)]
    pub latencies: Latencies,
    /// State of each pool of workers, in a sentence.
    pub pools: Vec<String>,
    /// Shortage of the job, where tasks wait.
    #[serde(skip)]
    pub shortage: Option<Shortage>,
    /// Reasons for which tasks wait, a sentence each; empty where no task waits.
    pub waits: Vec<String>,
    /// Metric of each unit, in the plan's order. From shard reports; the table is made from the ledger alone.
    pub live: Vec<LiveMetric>,
    /// Time at which it was made: a scheduler makes one every few seconds, changed or not.
    #[serde(skip)]
    pub renewed: Option<Instant>,
}

impl RunView {
    /// Tasks that no worker has.
    pub fn waiting_tasks(&self) -> u32 {
        self.open_tasks.saturating_sub(self.granted_tasks)
    }

    /// Returns the live scores as a bar shows them: `sums_gen 93.2`, with the model where there are several.
    pub fn scores(&self) -> Vec<String> {
        scores(&self.live).into_iter().map(|(name, value)| format!("{name} {value}")).collect()
    }
}

/// One worker that has been seen in this run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WorkerView {
    pub name: String,
    pub connected: bool,
    /// The pool that it works for; empty where none was named.
    pub pool: String,
    pub slots: u32,
    pub device: String,
    /// Results received, repeats counted.
    pub results: u64,
    pub busy_seconds: f64,
    pub deaths: u32,
    /// Since it came.
    pub seconds: f64,
    /// Results of the last ten minutes of the run, the oldest first, the running one last.
    pub by_minute: Vec<u64>,
}

impl WorkerView {
    /// Share of the time since it came in which its slots computed; what runs now counts when it is reported. `None` where it
    /// has none.
    pub fn busy_share(&self) -> Option<f64> {
        let all = self.seconds * f64::from(self.slots);
        (all > 0.0).then(|| (self.busy_seconds / all).min(1.0))
    }
}

/// Reports of workers on one model, or on one unit of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ShardTotals {
    pub model: String,
    /// Samples of the tasks that were reported, those that failed included.
    pub samples: u64,
    pub busy_seconds: f64,
    pub tokens: TokenCounters,
}

/// Times that things took, in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies {
    /// From a worker's word that it has room until the next task leaves for it.
    pub grant: Histogram,
    /// From a record's way to the ledger until it is durable.
    pub commit: Histogram,
    /// Time of an engine for a sample, over the samples of a task.
    pub sample: Histogram,
}

/// Number of values up to each bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    pub counts: [u64; Histogram::BOUNDS.len() + 1],
    pub sum: f64,
}

impl Histogram {
    /// Upper bounds in seconds, beside infinity.
    pub const BOUNDS: [f64; 14] =
        [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0];

    /// Adds `times` observations of `value`, in seconds.
    pub fn observe(&mut self, value: f64, times: u64) {
        let at = Self::BOUNDS.iter().position(|bound| value <= *bound).unwrap_or(Self::BOUNDS.len());
        self.counts[at] += times;
        self.sum += value * times as f64;
    }

    /// Counts by upper bound, the last of which is infinite.
    pub fn buckets(&self) -> Vec<(f64, u64)> {
        Self::BOUNDS.into_iter().chain([f64::INFINITY]).zip(self.counts).collect()
    }
}
