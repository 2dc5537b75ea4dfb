//! Outcome of a training run: which contents were planned, and what their tables say.

use super::trainer::Written;
use compass_types::ids::Digest;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Run folders by the content that they are planned for.
#[derive(Debug, Default)]
pub struct Evidence {
    runs: BTreeMap<String, Vec<PathBuf>>,
}

/// Comparison of contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Contents with all their numbers.
    pub whole: u64,
    /// Contents whose weights went away while they were evaluated.
    pub weights_gone: u64,
    /// Contents that went away before they were evaluated.
    pub never: u64,
}

impl Evidence {
    /// Reads the run folders of `work_dir`.
    pub fn read(work_dir: &Path) -> Self {
        let mut runs: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for entry in fs::read_dir(work_dir).into_iter().flatten().flatten() {
            let plan = json(&entry.path().join("plan/job.json"));
            if let Some(digest) = plan["models"][0]["pin"]["weights"]["digest"].as_str() {
                runs.entry(digest.to_owned()).or_default().push(entry.path());
            }
        }
        Self { runs }
    }

    /// Returns whether a job was planned for what was written.
    pub fn is_planned(&self, one: &Written) -> bool {
        self.runs.contains_key(&one.content.to_string())
    }

    /// Compares with what was written; `expected` has the results of an undisturbed run by the number of the variant.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn judge(&self, written: &[Written], expected: impl Fn(u64) -> Value) -> Result<Comparison, Vec<String>> {
        let (mut wrong, mut comparison) = (Vec::new(), Comparison::default());
        let known: BTreeMap<String, &Written> = written.iter().map(|one| (one.content.to_string(), one)).collect();
        for digest in self.runs.keys().filter(|digest| !known.contains_key(*digest)) {
            wrong.push(format!("content {digest} was planned, and never was whole"));
        }
        for (digest, one) in &known {
            let shown = format!("{} (variant {}, {})", one.name, one.number, short(digest));
            let runs = self.runs.get(digest).map(Vec::as_slice).unwrap_or_default();
            match runs {
                [] if one.stays => wrong.push(format!("{shown} was not evaluated")),
                [] => comparison.never += 1,
                [run] => {
                    let results = results(run);
                    let failed = results["failed_samples"].as_object().cloned().unwrap_or_default();
                    let is_gone =
                        |reason: &Value| reason.as_str().is_some_and(|reason| reason.starts_with("weights_gone: "));
                    if results == expected(one.number) {
                        comparison.whole += 1;
                    } else if !one.stays && !failed.is_empty() && failed.values().all(is_gone) {
                        comparison.weights_gone += 1;
                    } else {
                        wrong.push(format!("{shown}: {} has {results}, not {}", run.display(), expected(one.number)));
                    }
                }
                several => wrong.push(format!("{shown} was planned {} times: {several:?}", several.len())),
            }
        }
        if wrong.is_empty() { Ok(comparison) } else { Err(wrong) }
    }
}

fn short(digest: &str) -> String {
    Digest::parse(digest).map_or_else(|| digest.to_owned(), |digest| digest.short())
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap_or_default()).unwrap_or_default()
}

/// The only results document of a run with one model.
fn results(run: &Path) -> Value {
    let models = fs::read_dir(run.join("results")).into_iter().flatten().flatten();
    models.map(|model| json(&model.path().join("choices.json"))).next().unwrap_or_default()
}
