//! A leader of old that goes on writing predictions after others ended the run changes none of them.

use super::live::LivePredictions;
use compass_eval::report::Details;
use compass_ledger::{Kind, Ledger, LedgerEntry, SegmentWriter};
use compass_plans::{damaged_run, planned, result};
use compass_proto::v1;
use compass_run_folder::{RunFolder, write_plan};
use compass_scoring::{Answers, Evidence, Executions, score};
use compass_types::ids::Epoch;
use prost::Message as _;
use std::collections::BTreeMap;
use std::sync::Arc;

fn record(segment: &mut SegmentWriter, index: u32, best: usize) {
    let payload = v1::SampleResult::from(&result(index, best)).encode_to_vec();
    segment.append(&[LedgerEntry { kind: Kind::Sample.into(), payload, ..LedgerEntry::default() }]).unwrap();
}

#[test]
fn a_leader_of_old_writes_over_no_final_predictions() {
    let work_dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(work_dir.path(), "run").unwrap();
    let planned = planned();
    let digest = write_plan(&folder, &planned).unwrap();
    let ledger = Ledger::new(folder.ledger(), digest);
    let mut old = ledger.create_segment(Epoch(1), "old").unwrap();
    record(&mut old, 0, 0);
    let (whole, unfinished) = (folder.predictions("m", "d"), folder.unfinished_predictions("m", "d"));
    let live = LivePredictions {
        folder: folder.clone(),
        plan: Arc::new(planned.plan.clone()),
        ledger: ledger.clone().until(Epoch(1)),
        recorded: BTreeMap::new(),
        segment: old.name().to_owned(),
    };
    live.write(old.durable_length(), BTreeMap::new()).unwrap();
    let half = std::fs::read(&unfinished).unwrap();
    assert!(!whole.exists(), "one of two samples is no final file");

    let mut new = ledger.create_segment(Epoch(2), "new").unwrap();
    record(&mut new, 1, 0);
    let answers = Answers::read(&folder, digest, &BTreeMap::new()).unwrap();
    let evidence = Evidence { answers, failures: &[], executions: Executions::default() };
    score(&folder, &planned.plan, evidence, Some(Details::Include), &mut |_| {}).unwrap();
    let scored = std::fs::read(&whole).unwrap();
    assert!(scored.len() > half.len() && !unfinished.exists());

    live.write(old.durable_length(), BTreeMap::new()).unwrap();
    assert_eq!(std::fs::read(&whole).unwrap(), scored);
    assert_eq!(std::fs::read(&unfinished).unwrap(), half, "what it may say of unfinished ones, is not taken for final");

    record(&mut old, 1, 0);
    live.write(old.durable_length(), BTreeMap::new()).unwrap();
    assert_eq!(std::fs::read(&whole).unwrap(), scored, "whole ones have the bytes that scoring gave them");
    assert!(!unfinished.exists());
}

#[test]
fn damaged_results_are_no_predictions() {
    let work_dir = tempfile::tempdir().unwrap();
    let (folder, plan, digest) = damaged_run(work_dir.path());
    let live = LivePredictions {
        folder: folder.clone(),
        plan: Arc::new(plan),
        ledger: Ledger::new(folder.ledger(), digest),
        recorded: BTreeMap::new(),
        segment: "00000002-none".into(),
    };
    live.write(0, BTreeMap::new()).unwrap();
    let unfinished = std::fs::read(folder.unfinished_predictions("m", "d")).unwrap();
    let written: BTreeMap<String, serde_json::Value> = serde_json::from_slice(&unfinished).unwrap();
    assert_eq!(written.into_keys().collect::<Vec<_>>(), ["0"]);
}
