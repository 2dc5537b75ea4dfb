//! Outcome of a finished run of real size, held against what it must be.

use super::job::RealSize;
use crate::job::Job;
use compass_types::ids::Digest;
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Findings of a finished run.
#[derive(Clone, Debug, Default)]
pub struct RunFindings {
    /// Sum of the samples that results documents count as scored.
    pub scored: u64,
    /// Tokens computed over distinct ones, of the whole job.
    pub computed_per_distinct: f64,
    /// Invariants found broken.
    pub violations: u64,
    /// Results that came again and differed.
    pub divergences: u64,
    /// Samples that were run, duplicates counted, as the engines traced them; `None` without a trace.
    pub run: Option<u64>,
    /// Runs beyond the first of a sample, among `run`.
    pub run_again: u64,
    /// Tokens computed.
    pub computed: u64,
    /// Digest of all files in `results/`.
    pub results: Option<Digest>,
    /// Faults, in words; empty where everything is as it must be.
    pub faults: Vec<String>,
}

impl RunFindings {
    /// Reads the latest run of `job`; `trace` is the file that the engines wrote (`COMPASS_FAULT_TRACE`).
    pub fn read(size: &RealSize, job: &Job, trace: Option<&Path>) -> Self {
        let facts = job.facts();
        let count = |key: &str| facts[key].as_u64().unwrap_or(u64::MAX);
        let mut outcome = Self {
            violations: count("violations"),
            divergences: count("divergences"),
            computed: facts["tokens"]["computed"].as_u64().unwrap_or(0),
            computed_per_distinct: facts["computed_per_distinct"].as_f64().unwrap_or(f64::NAN),
            results: Some(folder_digest(&job.latest().join("results"))),
            ..Self::default()
        };
        outcome.check_facts(size, &facts);
        for model in size.model_names() {
            outcome.check_model(size, job, &model);
        }
        if let Some(trace) = trace {
            outcome.check_trace(size, trace);
        }
        outcome
    }

    fn check_facts(&mut self, size: &RealSize, facts: &Value) {
        let none =
            ["violations", "divergences", "repeats", "retries", "misfits", "duplicate_samples", "reports_not_compared"];
        for key in none.into_iter().filter(|key| facts[key] != 0) {
            self.faults.push(format!("logs/run.json: {key} is {}, not 0", facts[key]));
        }
        for key in ["recorded_samples", "expected_samples"].into_iter().filter(|key| facts[key] != size.samples()) {
            self.faults.push(format!("logs/run.json: {key} is {}, not {}", facts[key], size.samples()));
        }
        let results: u64 =
            facts["workers"].as_object().into_iter().flatten().filter_map(|(_, w)| w["results"].as_u64()).sum();
        if results != size.samples() {
            self.faults.push(format!("workers sent {results} results, not {}", size.samples()));
        }
    }

    fn check_model(&mut self, size: &RealSize, job: &Job, model: &str) {
        let rows = u64::from(size.rows);
        for data_set in size.data_sets() {
            let abbr = data_set.abbr;
            let path = job.latest().join("results").join(model).join(format!("{abbr}.json"));
            let result: Value =
                fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
            let count = |key: &str| result[key].as_u64();
            self.scored += count("scored").unwrap_or(0);
            if (count("expected"), count("scored"), count("failed")) != (Some(rows), Some(rows), Some(0)) {
                let [expected, scored, failed] = ["expected", "scored", "failed"].map(|key| &result[key]);
                self.faults.push(format!("{model}/{abbr}: {scored} of {expected} scored, {failed} failed, not {rows}"));
            }
            let Some(expected) = data_set.expected else { continue };
            let (must, is) = (expected.value(abbr, size.rows), result[expected.metric].as_f64().unwrap_or(f64::NAN));
            if (is - must).abs().partial_cmp(&expected.tolerance) != Some(std::cmp::Ordering::Less) {
                self.faults.push(format!("{model}/{abbr}: {} is {is}, not {must}", expected.metric));
            }
        }
    }

    /// Each prompt is to be run once for each model.
    fn check_trace(&mut self, size: &RealSize, trace: &Path) {
        let text = fs::read_to_string(trace).unwrap_or_default();
        let mut runs: HashMap<&str, u64> = HashMap::new();
        text.lines().for_each(|line| *runs.entry(line).or_default() += 1);
        self.run = Some(runs.values().sum());
        self.run_again = runs.values().map(|runs| runs.saturating_sub(u64::from(size.models))).sum();
        if self.run != Some(size.samples()) || self.run_again > 0 {
            let run = self.run.unwrap_or_default();
            self.faults.push(format!(
                "engines ran {run} samples, {} of them again, not {}",
                self.run_again,
                size.samples()
            ));
        }
    }
}

/// Digest of the names and bytes of every file below a folder.
pub fn folder_digest(folder: &Path) -> Digest {
    let mut files = Vec::new();
    list(folder, &mut files);
    files.sort();
    let mut all = String::new();
    for file in files {
        let digest = Digest::of(&fs::read(&file).unwrap_or_default());
        all += &format!("{digest} {}\n", file.strip_prefix(folder).unwrap_or(&file).display());
    }
    Digest::of(all.as_bytes())
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() { list(&path, files) } else { files.push(path) }
    }
}
