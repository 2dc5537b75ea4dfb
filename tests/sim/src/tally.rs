//! Counts of a history that scripts ask for: what was begun and computed, by which worker, and how each job ended.

use super::job::JobSample;
use compass_run::leader::Leader;
use compass_scheduler::Progress;
use std::collections::BTreeMap;

/// End of a job, as its last leader knows it.
#[derive(Clone, Debug)]
pub(super) struct JobEnd {
    pub(super) progress: Progress,
    /// Results that were never granted.
    pub(super) refused: u64,
    /// Claims without a proof.
    pub(super) void_claims: u64,
    /// Workers that cannot load a model, or whose results did not fit.
    pub(super) barred: Vec<String>,
}

impl JobEnd {
    pub(super) fn of(leader: &Leader) -> Self {
        let core = leader.core();
        let from_models = core.barred().map(|barred| barred.worker.0.clone());
        let from_job = core.barred_from_job().map(|(worker, _)| worker.0.clone());
        let mut barred: Vec<String> = from_models.chain(from_job).collect();
        barred.sort();
        barred.dedup();
        let (refused, void_claims) = leader.refusals().fold((0, 0), |(refused, void), (_, refusals)| {
            (refused + refusals.not_granted, void + refusals.void_claims)
        });
        Self { progress: core.progress(), refused, void_claims, barred }
    }
}

/// Counts of a history.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Number of samples that each worker has begun; one that it began twice counts twice.
    begun: BTreeMap<usize, u64>,
    /// Number of results of each sample that each worker's engines gave.
    results: BTreeMap<JobSample, BTreeMap<usize, u64>>,
    /// Number of times that a model was loaded.
    pub(super) loads: u64,
    ends: BTreeMap<usize, JobEnd>,
}

impl Tally {
    pub(super) fn begins(&mut self, worker: usize) {
        *self.begun.entry(worker).or_default() += 1;
    }

    pub(super) fn result(&mut self, worker: usize, key: JobSample) {
        *self.results.entry(key).or_default().entry(worker).or_default() += 1;
    }

    /// The first end of a job counts: one that is over for its workers may settle again.
    pub(super) fn ends(&mut self, job: usize, end: &JobEnd) {
        self.ends.entry(job).or_insert_with(|| end.clone());
    }

    /// Number of samples that a worker has begun.
    pub(super) fn begun(&self, worker: usize) -> u64 {
        self.begun.get(&worker).copied().unwrap_or(0)
    }

    /// Number of results that a worker's engines gave.
    pub(super) fn computed(&self, worker: usize) -> u64 {
        self.results.values().filter_map(|by| by.get(&worker)).sum()
    }

    /// The samples of which a worker's engines gave a result.
    pub(super) fn computed_by(&self, worker: usize) -> impl Iterator<Item = JobSample> {
        self.results.iter().filter(move |(_, by)| by.contains_key(&worker)).map(|(key, _)| *key)
    }

    /// Number of results that engines gave.
    pub(super) fn all_computed(&self) -> u64 {
        self.results.values().flat_map(BTreeMap::values).sum()
    }

    /// Number of results that engines gave beyond the first of each sample.
    pub(super) fn computed_again(&self) -> u64 {
        self.all_computed() - self.results.len() as u64
    }

    /// End of a job, once it has ended.
    pub(super) fn end(&self, job: usize) -> Option<&JobEnd> {
        self.ends.get(&job)
    }
}
