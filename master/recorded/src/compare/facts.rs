//! Facts of a run that may change its numbers beside the weights' own answers: by name, so that two runs can be compared by
//! them.

use compass_common::regular_file;
use compass_compare::Facts;
use compass_plan::summary::SummaryGroup;
use compass_plan::{DatasetPlan, ModelPlan};
use compass_planning::RecordedRun;
use compass_run_folder::RunFolder;
use compass_types::ids::ModelId;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Returns a value as it is in the plan, texts without quotes.
fn shown(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        Ok(Value::Null) => "none".into(),
        Ok(value) => value.to_string(),
        Err(_) => "unknown".into(),
    }
}

/// Returns the facts of a model.
pub(super) fn of_model(run: &RecordedRun, at: ModelId, model: &ModelPlan, devices: &Names) -> Facts {
    let mut facts = Facts::from([
        ("path", model.path.clone()),
        ("profile", shown(&model.profile)),
        ("dtype", shown(&model.dtype)),
        ("kind", shown(&model.kind)),
        ("chat template", shown(&model.chat)),
        ("meta template", shown(&model.meta_template)),
        ("BOS", shown(&model.bos)),
        ("max_seq_len", shown(&model.max_seq_len)),
        ("max_out_len", shown(&model.max_out_len)),
        ("decoding", shown(&model.decoding)),
        ("stop words", shown(&model.stop_words)),
        ("postprocessors", shown(&model.pred_postprocessors)),
        ("adapter", shown(&model.peft_path)),
    ]);
    if model.has_weights() {
        let weights = run.pins.get(&at).map(|pin| pin.weights.digest.short());
        facts.insert("weights", weights.unwrap_or_else(|| "unknown".into()));
    }
    if !model.deterministic {
        facts.insert("deterministic", shown(&false));
    }
    if let Some(devices) = devices.get(&model.abbr) {
        facts.insert("devices", devices.clone());
    }
    facts
}

/// Returns the facts of a data set.
pub(super) fn of_dataset(dataset: &DatasetPlan) -> Facts {
    Facts::from([
        ("version", dataset.version.clone()),
        ("inference", shown(&dataset.infer)),
        ("evaluation", shown(&dataset.eval)),
        ("samples", dataset.samples.to_string()),
    ])
}

/// Texts by names that a run chose.
pub(super) type Names = BTreeMap<String, String>;

/// Returns the devices of each model, according to `logs/run.json`; empty for a run without that file.
pub(super) fn devices(folder: &RunFolder) -> Names {
    let text = regular_file::read_text(&folder.logs().join("run.json"), regular_file::SMALL).unwrap_or_default();
    let Ok(Value::Object(facts)) = serde_json::from_str(&text) else { return Names::new() };
    let devices: BTreeMap<String, BTreeSet<String>> =
        facts.get("devices").and_then(|devices| serde_json::from_value(devices.clone()).ok()).unwrap_or_default();
    let joined = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
    devices.into_iter().map(|(model, names)| (model, joined(names))).collect()
}

/// The groups of the configuration that the run kept last; none where it kept none that can be read.
pub(super) fn groups(folder: &RunFolder) -> Vec<SummaryGroup> {
    let files = fs::read_dir(folder.configs()).into_iter().flatten().flatten().map(|entry| entry.path());
    let latest = files.filter(|path| path.extension().is_some_and(|kind| kind == "json")).max();
    let text = latest.and_then(|path| regular_file::read_text(&path, regular_file::SMALL).ok()).unwrap_or_default();
    let config: Value = serde_json::from_str(&text).unwrap_or_default();
    let groups = config.get("summary_groups").cloned().unwrap_or_default();
    serde_json::from_value(groups).unwrap_or_default()
}
