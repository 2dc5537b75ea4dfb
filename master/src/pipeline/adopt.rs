//! Predictions that OpenCompass wrote, taken over as the results of a run: whole files, or shards `_0.json`, `_1.json`, ...
//!
//! Shards are put together in order. A missing one is an error, never a silent end, and so is a record whose gold answer
//! is not that of the sample it would stand for: scores of other rows must not be mixed in.

use super::folder::RunFolder;
use super::planner::Planned;
use compass_diagnostic::Diagnostic;
use compass_plan::{Body, OptionText, Part, Sample, Unit};
use compass_pyfmt::python_str;
use compass_types::ids::{Digest, UnitId};
use compass_types::result::{Finish, Generation, LoglikelihoodScore, Outcome, PplScore, PromptFit, SampleResult};
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};

/// What a folder of predictions holds for the samples of a plan.
#[derive(Debug, Default)]
pub struct Adopted {
    pub results: Vec<(UnitId, SampleResult)>,
    /// Units for which there is no file at all, as `model/dataset`.
    pub without: Vec<String>,
}

/// Reads the predictions of every unit of the plan from `folder`.
///
/// # Errors
/// Every fault of every file.
pub fn adopt(folder: &RunFolder, planned: &Planned) -> Result<Adopted, Vec<Diagnostic>> {
    let mut adopted = Adopted::default();
    let mut faults = Vec::new();
    for unit in planned.plan.units() {
        let whole = folder.predictions(&unit.model.abbr, &unit.dataset.abbr);
        let files = match shards(&whole) {
            Ok(files) => files,
            Err(fault) => {
                faults.push(fault);
                continue;
            }
        };
        if files.is_empty() {
            adopted.without.push(format!("{}/{}", unit.model.abbr, unit.dataset.abbr));
            continue;
        }
        match read_unit(&files, unit, &samples(planned, unit)) {
            Ok(results) => adopted.results.extend(results.into_iter().map(|result| (unit.id, result))),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(adopted) } else { Err(faults) }
}

/// `<abbr>.json`, else `<abbr>_0.json`, `<abbr>_1.json`, ... without a gap; empty when there is neither.
fn shards(whole: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    if whole.is_file() {
        return Ok(vec![whole.to_owned()]);
    }
    let stem = whole.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = whole.parent().unwrap_or(Path::new("."));
    let number = |name: &str| -> Option<u32> {
        name.strip_prefix(&stem)?.strip_prefix('_')?.strip_suffix(".json")?.parse().ok()
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> = entries.filter_map(|entry| number(&entry.file_name().to_string_lossy())).collect();
    numbers.sort_unstable();
    let missing: Vec<String> = (0..numbers.last().map_or(0, |last| last + 1))
        .filter(|at| !numbers.contains(at))
        .map(|at| format!("{stem}_{at}.json"))
        .collect();
    if !missing.is_empty() {
        return Err(Diagnostic::error(format!(
            "{}: {} shards, but not {}: run what is missing, or take the later shards away",
            folder.display(),
            numbers.len(),
            missing.join(", ")
        )));
    }
    Ok(numbers.into_iter().map(|at| folder.join(format!("{stem}_{at}.json"))).collect())
}

fn samples(planned: &Planned, unit: Unit<'_>) -> Vec<Sample> {
    let part = |digest: &Digest| serde_json::from_slice::<Part>(planned.parts.get(digest)?).ok();
    unit.dataset.parts.iter().filter_map(|at| part(&at.digest)).flat_map(|part| part.samples).collect()
}

fn read_unit(files: &[PathBuf], unit: Unit<'_>, samples: &[Sample]) -> Result<Vec<SampleResult>, Diagnostic> {
    let mut results = Vec::new();
    for file in files {
        let fault = |what: String| Diagnostic::error(format!("{}: {what}", file.display()));
        let bytes = fs::read(file).map_err(|error| fault(error.to_string()))?;
        let records: Map<String, Value> =
            serde_json::from_slice(&bytes).map_err(|error| fault(format!("not a file of predictions: {error}")))?;
        for at in 0..records.len() {
            let record = records.get(&at.to_string()).and_then(Value::as_object);
            let record =
                record.ok_or_else(|| fault(format!("{} records, but none is called \"{at}\"", records.len())))?;
            let index = results.len();
            let sample = samples.get(index).ok_or_else(|| {
                fault(format!(
                    "record \"{at}\" would be sample {index} of {}, which has {}: was it made with another test_range?",
                    unit.dataset.abbr,
                    samples.len()
                ))
            })?;
            let known = unit.dataset.eval.evaluator.reference(&sample.gold);
            if let Some(gold) = record.get("gold").filter(|gold| python_str(gold) != python_str(known)) {
                return Err(fault(format!(
                    "record \"{at}\" has the gold answer {gold}, and sample {index} of {} has {}: they are not of the \
                     same rows",
                    unit.dataset.abbr, known
                )));
            }
            let outcome = outcome(sample, record).ok_or_else(|| {
                fault(format!("record \"{at}\" holds no {} of sample {index}", unit.dataset.infer.mode()))
            })?;
            results.push(SampleResult { index: sample.index, fit: PromptFit::default(), outcome });
        }
    }
    Ok(results)
}

/// The scores of a record. Counts of tokens are not in it: a `PPL` is taken as the sum over one.
fn outcome(sample: &Sample, record: &Map<String, Value>) -> Option<Outcome> {
    let number = |label: &Value, key: &str| -> Option<f64> {
        record.get(&format!("label: {}", python_str(label)))?.get(key)?.as_f64()
    };
    let generation =
        |text: &Value| Some(Generation { text: text.as_str()?.to_owned(), tokens: 0, finish: Finish::Eos });
    let prediction = record.get("prediction");
    match &sample.body {
        Body::Gen { .. } if record.contains_key("ppl") => {
            let nll_sum = record.get("ppl")?.as_f64()?;
            Some(Outcome::Ppl(vec![PplScore { nll_sum, tokens: 1, normalizer: None }]))
        }
        Body::Ppl { options } => {
            let score = |label| Some(PplScore { nll_sum: number(label, "PPL")?, tokens: 1, normalizer: None });
            options.iter().map(|option| score(&option.label)).collect::<Option<_>>().map(Outcome::Ppl)
        }
        Body::Loglikelihood { options, .. } => {
            let score = |option: &OptionText| {
                let key = if option.unconditional { "Unconditional Loglikelihood" } else { "Loglikelihood" };
                Some(LoglikelihoodScore { sum: number(&option.label, key)?, tokens: 0, is_greedy: false })
            };
            options.iter().map(score).collect::<Option<_>>().map(Outcome::Loglikelihood)
        }
        Body::Clp { choices, .. } => {
            let probabilities: Option<Vec<f64>> = prediction?.as_array()?.iter().map(Value::as_f64).collect();
            let logs: Vec<f64> = probabilities?.into_iter().map(f64::ln).collect();
            (logs.len() == choices.len()).then_some(Outcome::Clp(logs))
        }
        Body::Gen { .. } | Body::Chat { .. } => match prediction? {
            Value::Array(several) => several.iter().map(generation).collect::<Option<_>>().map(Outcome::Generated),
            one => Some(Outcome::Generated(vec![generation(one)?])),
        },
        Body::Rolling { .. } | Body::Execute { .. } => None,
    }
}
