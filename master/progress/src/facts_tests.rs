//! The record of a run, as events make it.

use super::*;
use compass_common::job_log::{JobLog, LogLine};
use compass_plan::engine::PrefixSegment;
use std::sync::Arc;

#[test]
fn what_several_engines_hold_alike_is_distinct_once() {
    let mut facts = RunFacts { datasets: 2, ..RunFacts::default() };
    let report = |unit, computed, prefix_segments: &[(u64, u32)]| {
        let tokens = TokenCounters { submitted: 900, distinct: computed, computed, ..TokenCounters::default() };
        let prefix_segments =
            prefix_segments.iter().map(|&(path, tokens)| PrefixSegment { path, tokens }.into()).collect();
        v1::ShardReport { unit, tokens: Some(tokens.into()), prefix_segments, ..Default::default() }
    };
    let (one, two) = (WorkerId("one".into()), WorkerId("two".into()));
    facts.report(&one, report(0, 300, &[(7, 100), (8, 20)]));
    assert_eq!((facts.tokens.distinct, facts.computed_per_distinct), (300, 1.0));
    // The other data set of the model begins in the same way; another model's tokens are others.
    facts.report(&two, report(1, 200, &[(7, 100), (9, 5)]));
    facts.report(&two, report(2, 200, &[(7, 100)]));
    assert_eq!((facts.tokens.computed, facts.tokens.distinct), (700, 600));
    let of_units: Vec<u64> = facts.by_unit.values().map(|unit| unit.tokens.distinct).collect();
    assert_eq!(of_units, [300, 100, 200], "those of the units add up to those of the run");
    let line = facts.tokens_line().unwrap();
    assert!(line.contains("; 100 tokens of shared prefixes were computed again"), "{line}");
    assert!((facts.computed_per_distinct - 7.0 / 6.0).abs() < 1e-12);
}

#[tokio::test]
async fn what_an_engine_notes_is_said_once_and_names_the_model() {
    let model_names = vec!["m".to_owned(), "n".to_owned()];
    let mut facts = RunFacts { datasets: 1, model_names, ..RunFacts::default() };
    let worker = WorkerId("w".into());
    let report = |unit| {
        let notes = vec!["tokens are drawn".to_owned()];
        v1::ShardReport { unit, notes, engine_deaths: 2 - unit, ..Default::default() }
    };
    let loaded = serde_json::to_vec(&serde_json::json!({ "notes": ["the date is fixed"] })).unwrap();
    let job_log = Arc::new(JobLog::ended());
    let run = async {
        for unit in 0..2 {
            facts.report(&worker, report(unit));
        }
        for model in 0..2 {
            let _ = facts.model(&worker, ModelId(model), &loaded);
        }
    };
    status_output::with_log(job_log.clone(), run).await;
    let said = ["note: m: tokens are drawn", "note: m: the date is fixed"];
    assert_eq!(job_log.read(0).0, said.map(|line| LogLine::Status(line.into())));
    assert_eq!((facts.notes, facts.workers["w"].deaths), (vec!["tokens are drawn".to_owned()], 3));
}

#[test]
fn device_of_a_worker_is_what_its_engines_found() {
    let mut facts = RunFacts { model_names: vec!["m".into(), "n".into()], ..RunFacts::default() };
    let worker = WorkerId("w".into());
    let mut device_after = |model: u32, device: &str| {
        let told = serde_json::to_vec(&serde_json::json!({ "device": device, "notes": [] })).unwrap();
        let _ = facts.attached(&worker, 1, "cuda", "");
        let _ = facts.model(&worker, ModelId(model), &told);
        let _ = facts.attached(&worker, 1, "cuda", "");
        facts.workers["w"].device.clone()
    };
    assert_eq!(device_after(0, "echo"), "cuda", "what it was started for: the engine has no device");
    assert_eq!(device_after(0, "cpu"), "cpu");
    assert_eq!(device_after(1, "NVIDIA H100 80GB HBM3"), "cpu, cuda");
}

#[test]
fn devices_are_named_and_a_second_type_of_gpu_is_said_once() {
    let mut facts = RunFacts { model_names: vec!["m".into()], ..RunFacts::default() };
    let worker = |name: &str| WorkerId(name.into());
    let (h100, a100) = ("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB");
    for (name, device) in [("a", h100), ("b", h100), ("c", a100), ("c", a100), ("a", h100)] {
        let told = serde_json::to_vec(&serde_json::json!({ "device": device, "notes": [] })).unwrap();
        let _ = facts.model(&worker(name), ModelId(0), &told);
    }
    assert_eq!(facts.devices["m"], BTreeSet::from([h100.to_owned(), a100.to_owned()]));
    assert_eq!(facts.workers["c"].engines_on, BTreeSet::from([a100.to_owned()]));
    assert_eq!(facts.notes.len(), 1, "{:?}", facts.notes);
    assert!(
        facts.notes[0].contains("m runs on several types of GPU (NVIDIA A100-SXM4-80GB, NVIDIA H100"),
        "{:?}",
        facts.notes
    );
}
