//! A worker's shard report is checked against the fold of the ledger, and never makes a number.

use super::origins::Origins;
use super::score::{Answers, Evidence, Executions, score};
use compass_diagnostic::Diagnostic;
use compass_eval::evaluator::{Accumulator, EVAL_VERSION};
use compass_eval::report::Details;
use compass_ledger::{Kind, Ledger, LedgerEntry, Reopened};
use compass_plan::evaluation::Reading;
use compass_plan::prompt::{Prompt, Shot};
use compass_progress::RunFacts;
use compass_proto::v1;
use compass_run_folder::{RunFolder, write_plan};
use compass_types::ids::{Epoch, UnitId};
use compass_types::intervals::IntervalSet;
use compass_types::result::{Finish, Generation, Outcome, PromptFit, SampleResult};

use compass_plan::*;
use compass_plans::{damaged_run, planned, planned_of, result, sample};
use prost::Message as _;
use std::collections::BTreeMap;

/// Scores a run whose worker, with evaluators of `eval_version`, recorded option 0 for both samples and claims `claimed` for
/// the second.
fn score_with_claim(claimed: usize, eval_version: u32) -> (Vec<Diagnostic>, bool, serde_json::Value) {
    let work_dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(work_dir.path(), "run").unwrap();
    let planned = planned();
    let digest = write_plan(&folder, &planned).unwrap();
    let mut claim = Accumulator::new(&planned.plan.datasets[0].eval);
    claim.observe(&sample(0), &result(0, 0));
    claim.observe(&sample(1), &result(1, claimed));
    let report = v1::ShardReport {
        samples: vec![v1::Interval { first: 0, end: 2 }],
        eval_version,
        state: claim.digest().0.to_vec(),
        ..Default::default()
    };
    let entry =
        |kind: Kind, payload| LedgerEntry { kind: kind.into(), worker: "w".into(), payload, ..LedgerEntry::default() };
    let mut segment = Ledger::new(folder.ledger(), digest).create_segment(Epoch(1), "master").unwrap();
    let recorded = |index| entry(Kind::Sample, v1::SampleResult::from(&result(index, 0)).encode_to_vec());
    segment.append(&[recorded(0), recorded(1), entry(Kind::Report, report.encode_to_vec())]).unwrap();
    let answers = Answers::read(&folder, digest, &BTreeMap::new()).unwrap();
    let evidence = Evidence { answers, failures: &[], executions: Executions::default() };
    let mut told = 0;
    let scored =
        score(&folder, &planned.plan, evidence, Some(Details::Include), &mut |samples| told += samples).unwrap();
    assert_eq!(told, 2, "every sample is counted once");
    let results = std::fs::read(folder.results("m", "d")).unwrap();
    (scored.notices, scored.complete, serde_json::from_slice(&results).unwrap())
}

#[test]
fn a_report_that_disagrees_is_an_error_and_the_ledger_makes_the_number() {
    let (notices, complete, results) = score_with_claim(0, EVAL_VERSION);
    assert_eq!((notices, complete), (vec![], true));
    assert_eq!(results["accuracy"], 100.0);
    let (notices, complete, results) = score_with_claim(1, EVAL_VERSION);
    assert!(!complete);
    assert!(
        notices[0].to_string().starts_with("error: m/d: worker w reported other shard metrics for samples 0..2"),
        "{notices:?}"
    );
    assert_eq!(results["accuracy"], 100.0, "the claim is checked, never counted");
}

#[test]
fn questions_among_their_own_shots_are_said_below_the_table() {
    let work_dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(work_dir.path(), "run").unwrap();
    let mut planned = planned();
    planned.plan.datasets[0].own_questions = 2;
    write_plan(&folder, &planned).unwrap();
    let evidence = Evidence { answers: Answers::default(), failures: &[], executions: Executions::default() };
    let scored = score(&folder, &planned.plan, evidence, None, &mut |_| {}).unwrap();
    let said = "d: 2 of 2 questions are shown with their answer, among their own shots: `leave_out = true`";
    assert!(scored.summary.text().contains(said), "{}", scored.summary.text());
}

#[test]
fn a_report_of_another_version_is_not_compared() {
    for claimed in [0, 1] {
        let (notices, complete, results) = score_with_claim(claimed, EVAL_VERSION + 1);
        assert_eq!((notices, complete), (vec![], true));
        assert_eq!(results["accuracy"], 100.0);
    }
}

#[test]
fn samples_that_were_asked_with_fewer_examples_are_named() {
    let work_dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(work_dir.path(), "run").unwrap();
    let samples = [0, 1].map(|index| Sample { shots: vec![0, 1], ..sample(index) });
    let planned = planned_of(Part { shots: vec![Shot::from("one"), Shot::from("two")], samples: samples.to_vec() });
    let digest = write_plan(&folder, &planned).unwrap();
    let recorded = [(0, 2), (1, 1)].map(|(index, shots_kept)| {
        let result = SampleResult { fit: PromptFit { shots_kept, ..PromptFit::default() }, ..result(index, 0) };
        let payload = v1::SampleResult::from(&result).encode_to_vec();
        LedgerEntry { kind: Kind::Sample.into(), worker: "w".into(), payload, ..LedgerEntry::default() }
    });
    Ledger::new(folder.ledger(), digest).create_segment(Epoch(1), "master").unwrap().append(&recorded).unwrap();
    let answers = Answers::read(&folder, digest, &BTreeMap::new()).unwrap();
    let evidence = Evidence { answers, failures: &[], executions: Executions::default() };
    let scored = score(&folder, &planned.plan, evidence, Some(Details::Include), &mut |_| {}).unwrap();
    let expected = "m/d: 1 sample was asked with fewer examples than planned, to fit max_seq_len: 1";
    assert_eq!((scored.notices, scored.complete), (vec![Diagnostic::note(expected)], true));
    let results: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.results("m", "d")).unwrap()).unwrap();
    assert_eq!(results["fewer_shots"], serde_json::json!([1]));
}

#[test]
fn a_report_on_a_failure_that_counts_no_more_says_nothing() {
    let work_dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(work_dir.path(), "run").unwrap();
    let planned = planned();
    let digest = write_plan(&folder, &planned).unwrap();
    let failure = SampleResult { outcome: Outcome::Failed { reason: "the engine died".into() }, ..result(1, 0) };
    let mut claim = Accumulator::new(&planned.plan.datasets[0].eval);
    claim.observe(&sample(0), &result(0, 0));
    claim.observe(&sample(1), &failure);
    let report = v1::ShardReport {
        samples: vec![v1::Interval { first: 0, end: 2 }],
        eval_version: EVAL_VERSION,
        state: claim.digest().0.to_vec(),
        ..Default::default()
    };
    let entry =
        |kind: Kind, payload| LedgerEntry { kind: kind.into(), worker: "w".into(), payload, ..LedgerEntry::default() };
    let recorded = |result: &SampleResult| entry(Kind::Sample, v1::SampleResult::from(result).encode_to_vec());
    let ledger = Ledger::new(folder.ledger(), digest);
    let first = [recorded(&result(0, 0)), recorded(&failure), entry(Kind::Report, report.encode_to_vec())];
    ledger.create_segment(Epoch(1), "master").unwrap().append(&first).unwrap();
    let mut again = ledger.create_segment(Epoch(2), "master").unwrap();
    let reopened = Reopened([(UnitId(0), IntervalSet::range(1, 2))].into());
    again.append(&reopened.entries(Epoch(2)).unwrap()).unwrap();
    again.append(&[recorded(&result(1, 0))]).unwrap();
    let answers = Answers::read(&folder, digest, &BTreeMap::new()).unwrap();
    assert_eq!(answers.count(), 2);
    let evidence = Evidence { answers, failures: &[], executions: Executions::default() };
    let scored = score(&folder, &planned.plan, evidence, Some(Details::Include), &mut |_| {}).unwrap();
    assert_eq!((scored.notices, scored.complete), (vec![], true));
}

#[test]
fn damaged_entries_make_no_number_and_no_disagreement() {
    let work_dir = tempfile::tempdir().unwrap();
    let (folder, plan, digest) = damaged_run(work_dir.path());
    let mut origins = Origins::default();
    let ledger = Ledger::new(folder.ledger(), digest);
    let answers = Answers::read_noting(&ledger, &BTreeMap::new(), &mut |entry| origins.take(entry)).unwrap();
    assert_eq!((answers.count(), answers.diverged().count()), (1, 0));
    let evidence = Evidence { answers, failures: &[], executions: Executions::default() };
    let scored = score(&folder, &plan, evidence, Some(Details::Include), &mut |_| {}).unwrap();
    assert_eq!((scored.notices, scored.complete), (vec![], false));
    let results: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.results("m", "d")).unwrap()).unwrap();
    assert_eq!(results["accuracy"], 100.0, "of the sound one");
    let mut facts = RunFacts::of_plan(&plan);
    origins.note(&mut facts, &plan);
    assert_eq!((facts.reports, facts.samples["w"]["m/d"].as_str()), (0, "0..2"), "one of them names its sample");
}

#[test]
fn rates_of_k_answers_stand_in_the_results_and_below_the_table_in_whatever_order_answers_come() {
    let part = |index: u32| Sample {
        body: Body::Gen { prompt: Prompt::question(format!("{index}")) },
        gold: "A".into(),
        ..sample(index)
    };
    let drawn = |index: u32| {
        let texts = [["A", "B", "A", ""], ["B", "B", "C", "A"]][index as usize];
        let answers = texts.map(|text| Generation::new(text, 1, Finish::Stop)).to_vec();
        SampleResult { outcome: Outcome::Generated(answers), ..result(index, 0) }
    };
    let scored = |order: [u32; 2]| {
        let work_dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(work_dir.path(), "run").unwrap();
        let mut planned = planned_of(Part { shots: vec![], samples: vec![part(0), part(1)] });
        planned.plan.datasets[0].infer = InferSpec::Gen(GenSpec::default());
        let digest = write_plan(&folder, &planned).unwrap();
        let recorded = order.map(|index| {
            let mut claim = Accumulator::new(&planned.plan.datasets[0].eval);
            claim.observe(&part(index), &drawn(index));
            let report = v1::ShardReport {
                samples: vec![v1::Interval { first: index, end: index + 1 }],
                eval_version: EVAL_VERSION,
                state: claim.digest().0.to_vec(),
                ..Default::default()
            };
            [
                (Kind::Sample, v1::SampleResult::from(&drawn(index)).encode_to_vec()),
                (Kind::Report, report.encode_to_vec()),
            ]
        });
        let entries: Vec<LedgerEntry> = recorded
            .into_iter()
            .flatten()
            .map(|(kind, payload)| LedgerEntry {
                kind: kind.into(),
                worker: "w".into(),
                payload,
                ..LedgerEntry::default()
            })
            .collect();
        Ledger::new(folder.ledger(), digest).create_segment(Epoch(1), "master").unwrap().append(&entries).unwrap();
        let answers = Answers::read(&folder, digest, &BTreeMap::new()).unwrap();
        let evidence = Evidence { answers, failures: &[], executions: Executions::default() };
        let scored = score(&folder, &planned.plan, evidence, Some(Details::Include), &mut |_| {}).unwrap();
        assert_eq!((&scored.notices, scored.complete), (&vec![], true));
        (std::fs::read_to_string(folder.results("m", "d")).unwrap(), scored.summary.document())
    };
    let (results, document) = scored([0, 1]);
    assert_eq!((&results, &document), (&scored([1, 0]).0, &scored([1, 0]).1));
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    let rates = ["pass", "maj", "all"].map(|rate| results["by_k"]["4"][rate].as_f64().unwrap());
    assert_eq!(rates, [100.0, 50.0, 0.0], "the right class has most votes of the first question alone");
    assert_eq!(results["draws"]["unsettled"], 2);
    assert_eq!(document.matches("d, 2 questions, 4 answers each").count(), 2, "as text and as Markdown: {document}");
}

/// Scores two answers of one data set, both right, of which OpenCompass's `gsm8k` reads none so (#2343, #1818).
fn score_money(reading: Reading) -> (String, serde_json::Value) {
    let work_dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(work_dir.path(), "run").unwrap();
    let answers = [("so\n#### 70000", "$200,000 - $130,000 = $70,000."), ("so\n#### 1,234", "It is 1,234 in total.")];
    let sample = |(index, (gold, _)): (usize, &(&str, &str))| Sample {
        index: index as u32,
        gold: (*gold).into(),
        shots: Vec::new(),
        body: Body::Gen { prompt: Prompt::question("how much?") },
    };
    let mut planned = planned_of(Part { shots: Vec::new(), samples: answers.iter().enumerate().map(sample).collect() });
    let eval = serde_json::json!({
        "evaluator": {"type": "gsm8k"}, "pred_postprocessors": ["gsm8k"], "dataset_postprocessors": ["gsm8k_dataset"],
    });
    let eval = EvalSpec { reading, ..serde_json::from_value(eval).unwrap() };
    (planned.plan.datasets[0].eval, planned.plan.datasets[0].infer) = (eval, InferSpec::Gen(GenSpec::default()));
    planned.head = serde_json::to_vec(&planned.plan).unwrap();
    let digest = write_plan(&folder, &planned).unwrap();
    let recorded = |(index, (_, text)): (usize, &(&str, &str))| {
        let outcome = Outcome::Generated(vec![Generation::new(*text, 8, Finish::Eos)]);
        let result = SampleResult { index: index as u32, fit: PromptFit::default(), outcome };
        let payload = v1::SampleResult::from(&result).encode_to_vec();
        LedgerEntry { kind: Kind::Sample.into(), worker: "w".into(), payload, ..LedgerEntry::default() }
    };
    let entries: Vec<LedgerEntry> = answers.iter().enumerate().map(recorded).collect();
    Ledger::new(folder.ledger(), digest).create_segment(Epoch(1), "master").unwrap().append(&entries).unwrap();
    let answers = Answers::read(&folder, digest, &BTreeMap::new()).unwrap();
    let evidence = Evidence { answers, failures: &[], executions: Executions::default() };
    let scored = score(&folder, &planned.plan, evidence, Some(Details::Include), &mut |_| {}).unwrap();
    assert!(scored.complete, "{:?}", scored.notices);
    (scored.summary.text(), serde_json::from_slice(&std::fs::read(folder.results("m", "d")).unwrap()).unwrap())
}

#[test]
fn the_second_reading_stands_beside_the_first_number() {
    let (table, results) = score_money(Reading::Auto);
    assert_eq!((&results["accuracy"], &results["reading"]["accuracy"]), (&0.0.into(), &100.0.into()));
    assert_eq!(results["reading"]["differs"], serde_json::json!({"up": 2, "down": 0}));
    let said = "m/d: 100.00 as `answer` reads: 2 of 2 decisions differ (2 up, 0 down)";
    assert!(table.contains(said) && table.contains("000000") && !table.contains("read_accuracy"), "{table}");
    let (table, results) = score_money(Reading::Off);
    assert!(!table.contains("`answer`") && results.get("reading").is_none(), "{table}");
}

#[test]
fn the_second_reading_comes_first_under_another_version() {
    let (table, results) = score_money(Reading::First);
    assert_eq!(results.as_object().unwrap().keys().take(2).collect::<Vec<_>>(), ["read_accuracy", "accuracy"]);
    assert_eq!((&results["read_accuracy"], &results["accuracy"]), (&100.0.into(), &0.0.into()));
    let details = &results["details"]["0"];
    assert_eq!((&details["correct"], &details["read_accuracy"]), (&false.into(), &true.into()));
    let first = table.lines().find(|line| line.starts_with("d ")).unwrap();
    assert!(first.contains("read_accuracy") && !first.contains("000000"), "{table}");
}
