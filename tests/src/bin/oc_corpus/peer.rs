//! OpenCompass itself over the same data, and what differs.

use super::asked;
use super::corpus::File;
use super::options::Options;
use super::scoring::parts;
use compass_eval::evaluator::Accumulator;
use compass_eval::report::{Details, Findings, results_document};
use compass_plan::{DatasetPlan, Plan};
use compass_planning::{Gaps, adopt, is_gold_of};
use compass_run_folder::{Planned, RunFolder};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Command;

/// Differences that are printed of each kind.
const SHOWN: usize = 40;

/// Runs OpenCompass over the files.
///
/// # Errors
/// Errors of the disk, and an interpreter that cannot be started or fails.
pub(super) fn run(python: &Path, options: &Options, work: &Path, files: &[&File]) -> io::Result<()> {
    let list: Vec<Value> = files.iter().map(|file| json!({"name": file.name, "path": file.path})).collect();
    std::fs::write(work.join("files.json"), Value::from(list).to_string())?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/opencompass_corpus.py");
    let mut command = Command::new(python);
    command.arg(script).arg(&options.tree).arg(work);
    if let Some(entries) = &options.entries {
        command.env("OC_CORPUS_ENTRIES", entries);
    }
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("the peer's script ended with {status}"))) }
}

/// Findings of the comparison.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Files of which at least one data set was compared, and nothing differed.
    same: Vec<String>,
    /// Files by what differs.
    different: BTreeMap<&'static str, Vec<(String, String)>>,
    /// Failures of OpenCompass itself.
    peer_failed: Vec<(String, String)>,
    prompts: u64,
    scores: u64,
}

impl Comparison {
    /// Compares the data sets of a file that the peer ran.
    pub(super) fn compare(&mut self, work: &Path, file: &File, served: &Planned) {
        let report = work.join("peer").join(format!("{}.json", file.name));
        let Some(report) = read(&report) else { return };
        let (mut compared, before) = (false, self.count());
        for record in report.as_array().into_iter().flatten() {
            let abbr = record["abbr"].as_str().unwrap_or_default();
            for (key, error) in record.as_object().into_iter().flatten() {
                if ["load", "file"].contains(&key.as_str()) || key.starts_with("infer ") || key.starts_with("eval ") {
                    let error = format!("{key}: {}", error.as_str().unwrap_or_default());
                    self.peer_failed.push((format!("{} {abbr}", file.name), error));
                }
            }
            let found = served.plan.datasets.iter().find(|dataset| dataset.abbr == abbr.replace('/', "_"));
            match found {
                None if abbr.is_empty() => {}
                None => self.differs("name", file, abbr, "no data set of this name here".into()),
                Some(dataset) => compared |= self.dataset(work, file, served, dataset, record),
            }
        }
        if compared && self.count() == before {
            self.same.push(file.name.clone());
        }
    }

    fn count(&self) -> usize {
        self.different.values().map(Vec::len).sum()
    }

    fn differs(&mut self, kind: &'static str, file: &File, abbr: &str, how: String) {
        self.different.entry(kind).or_default().push((format!("{} {abbr}", file.name), how));
    }

    /// Returns whether anything was compared.
    fn dataset(&mut self, work: &Path, file: &File, served: &Planned, dataset: &DatasetPlan, record: &Value) -> bool {
        let root = work.join("peer").join(&file.name);
        let parts = parts(served, dataset);
        let samples: Vec<_> = parts.iter().flat_map(|part| part.samples.iter().map(move |at| (part, at))).collect();
        // OpenCompass asks all rows `n` times over.
        let times = dataset.infer.generation().and_then(|infer| infer.decoding.num_return_sequences).unwrap_or(1);
        let count = samples.len() * times as usize;
        let samples: Vec<_> = samples.into_iter().cycle().take(count).collect();
        let mut compared = false;
        for model in asked::MODELS {
            let Some(records) = read(&root.join(format!("predictions/{model}/{}.json", dataset.abbr))) else {
                continue;
            };
            let records = records.as_object().cloned().unwrap_or_default();
            compared = true;
            if records.len() != samples.len() {
                let how = format!("{} samples here, {} there", samples.len(), records.len());
                self.differs("rows", file, &dataset.abbr, how);
                return true;
            }
            let meta = asked::meta(model);
            for (at, (part, sample)) in samples.iter().enumerate() {
                let Some(record) = records.get(&at.to_string()) else { continue };
                let (found, expected) = (asked::asked(dataset, part, sample, meta.as_ref()), asked::recorded(record));
                self.prompts += 1;
                if !is_same(&found, &expected) {
                    let how = format!("`{model}` sample {at}\n  here  {found}\n  there {expected}");
                    self.differs("prompt", file, &dataset.abbr, how);
                    break;
                }
            }
        }
        if let Some(version) = record["version"].as_str()
            && version != dataset.version
        {
            self.differs("version", file, &dataset.abbr, format!("{} here, {version} there", dataset.version));
        }
        if let Some(golds) = record["gold"].as_array() {
            let known = samples.iter().zip(golds).enumerate();
            let mut wrong = known.filter(|(_, ((_, sample), gold))| !is_gold_of(&dataset.eval, sample, gold));
            if let Some((at, ((_, sample), expected))) = wrong.next() {
                let found = dataset.eval.evaluator.reference(&sample.gold);
                let how = format!("sample {at}: {found} here, {expected} there");
                self.differs("gold", file, &dataset.abbr, how);
            }
        }
        for model in asked::MODELS {
            if let Some(results) = read(&root.join(format!("results/{model}/{}.json", dataset.abbr))) {
                self.results(file, served, dataset, (&root, model), &results);
            }
        }
        compared
    }

    /// OpenCompass's predictions taken over and scored, beside its own results.
    fn results(
        &mut self,
        file: &File,
        served: &Planned,
        dataset: &DatasetPlan,
        (root, model): (&Path, &str),
        expected: &Value,
    ) {
        let (Some(parent), Some(name)) = (root.parent(), root.file_name().and_then(|name| name.to_str())) else {
            return;
        };
        let Some(folder) = RunFolder::foreign(parent, name) else { return };
        let mut plan = Plan { datasets: vec![dataset.clone()], duplicates: None, ..served.plan.clone() };
        for one in &mut plan.models {
            one.abbr = model.to_owned();
            one.meta_template = asked::meta(model);
        }
        let head = Vec::new();
        let own = served.parts.only(dataset.parts.iter().map(|part| &part.digest));
        let planned = Planned { plan, head, parts: own, duplicates: Default::default() };
        let adopted = match adopt(&folder, &planned, Gaps::Refused) {
            Ok(adopted) => adopted,
            Err(faults) => {
                let fault = faults.first().map(|fault| fault.message.clone()).unwrap_or_default();
                return self.differs("not taken over", file, &dataset.abbr, fault);
            }
        };
        if dataset.eval.evaluator.executes() {
            return;
        }
        let (mut total, mut findings) = (Accumulator::new(&dataset.eval), Findings::default());
        let results: BTreeMap<u32, _> = adopted.results.into_iter().map(|(_, result)| (result.index, result)).collect();
        for part in parts(served, dataset) {
            for sample in &part.samples {
                let Some(result) = results.get(&sample.index) else { continue };
                total.observe(sample, result);
                findings.observe(sample, result, &dataset.eval, None);
            }
        }
        let metrics = total.finish();
        let document = results_document(dataset, &metrics, &findings, Details::Include);
        let found = serde_json::to_value(document).unwrap_or_default();
        self.scores += 1;
        if let Some(how) = score_difference(&found, expected) {
            self.differs("score", file, &dataset.abbr, how);
        } else if let Some(how) = verdict_difference(&found, expected) {
            self.differs("verdict", file, &dataset.abbr, how);
        }
    }

    /// Prints what was found; whether nothing differs.
    pub(super) fn print(&self) -> bool {
        for (kind, differences) in &self.different {
            for (place, how) in differences.iter().take(SHOWN) {
                println!("{kind} differs: {place}: {how}");
            }
            if differences.len() > SHOWN {
                println!("{kind} differs: {} more", differences.len() - SHOWN);
            }
        }
        let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (place, error) in &self.peer_failed {
            groups.entry(error.chars().take(160).collect()).or_default().push(place);
        }
        for (error, places) in &groups {
            println!("OpenCompass fails: {} x {error} ({})", places.len(), places.first().unwrap_or(&""));
        }
        let of_kind: Vec<String> =
            self.different.iter().map(|(kind, found)| format!("{} {kind}", found.len())).collect();
        println!(
            "{} files are the same in every prompt and score ({} prompts, {} data sets scored); {} differences: {}",
            self.same.len(),
            self.prompts,
            self.scores,
            self.count(),
            of_kind.join(", ")
        );
        self.count() == 0
    }
}

fn read(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Returns whether two prompts are the same. The order of labels counts: it decides ties.
fn is_same(found: &Value, expected: &Value) -> bool {
    // As texts, because objects are equal in any order of their keys.
    let text = |value: &Value| value.to_string();
    // Of a service OpenCompass lists empty messages too; chat models are not given them.
    text(found) == text(expected) || expected.is_string() && *found == json!([{"role": "user", "prompt": expected}])
}

/// Numbers of a result that no table of OpenCompass shows: its summarizers' `METRIC_BLACKLIST`.
const NOT_IN_ITS_TABLES: [&str; 4] = ["bp", "sys_len", "ref_len", "type"];

/// A metric that is not the same to the last printed digit, or is missing on either side.
fn score_difference(found: &Value, expected: &Value) -> Option<String> {
    let digits = |value: &Value| value.as_f64().map(|number| format!("{number:.2}"));
    let theirs: Map<String, Value> = expected.as_object()?.clone();
    let in_tables = |name: &String| !NOT_IN_ITS_TABLES.contains(&name.as_str());
    for (name, value) in theirs.iter().filter(|(name, value)| value.is_number() && in_tables(name)) {
        let ours = found.get(name).and_then(digits);
        if ours != digits(value) {
            let ours = ours.unwrap_or_else(|| "nothing".into());
            return Some(format!("{name}: {ours} here, {value} there"));
        }
    }
    theirs.get("error").map(|error| format!("OpenCompass says {error}"))
}

/// The first sample on which the two do not agree.
fn verdict_difference(found: &Value, expected: &Value) -> Option<String> {
    let (ours, theirs) = (found.get("details")?, expected.get("details")?);
    let line = |details: &Value, at: usize| match details {
        Value::Array(lines) => lines.get(at).cloned(),
        details => details.get(at.to_string()).cloned(),
    };
    let is_right =
        |line: &Value| ["correct", "is_correct"].iter().find_map(|key| line.get(key).and_then(Value::as_bool));
    (0..).map_while(|at| Some((at, line(ours, at)?, line(theirs, at)?))).find_map(|(at, ours, theirs)| {
        let (a, b) = (is_right(&ours)?, is_right(&theirs)?);
        // Of `ppl` it says whether the label is the whole gold answer, which in a circle is `index--label--pattern`: never, while
        // its scores look at the label.
        let is_in_a_circle =
            theirs.get("references").and_then(Value::as_str).is_some_and(|gold| gold.split("--").count() == 3);
        (a != b && !is_in_a_circle).then(|| format!("sample {at}: {a} here, {b} there: {ours} {theirs}"))
    })
}
