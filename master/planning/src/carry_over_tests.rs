//! Tests of what is taken over from an earlier run.

use super::*;
use crate::import::import;
use compass_ledger::LedgerEntry;
use compass_plan::prompt::Prompt;
use compass_plan::{Body, GenSpec, InferSpec};
use compass_plans::{damaged_run, planned_of};
use compass_proto::v1;
use compass_run_folder::write_plan;
use compass_types::ids::Epoch;
use compass_types::result::{Finish, Generation, PromptFit};
use prost::Message as _;
use std::path::Path;

#[test]
fn answers_of_an_earlier_format_are_no_answers_of_today() {
    let work_dir = tempfile::tempdir().unwrap();
    let (_, mut plan, _) = damaged_run(work_dir.path());
    let alike = |plan: &Plan, format: u32| plan.units().map(|unit| is_computed_alike(format, unit)).collect::<Vec<_>>();
    let (today, before) = (FORMAT_OF_THINKING, FORMAT_OF_THINKING - 1);
    plan.datasets.truncate(1);
    plan.models[0].kind = ModelKind::Hf;
    plan.datasets[0].infer = InferSpec::Ppl;
    assert_eq!((alike(&plan, before), alike(&plan, today)), (vec![true], vec![true]));
    plan.models[0].chat = true;
    assert_eq!((alike(&plan, before), alike(&plan, today)), (vec![false], vec![true]));
    plan.models[0].chat = false;
    plan.datasets[0].infer = InferSpec::Gen(GenSpec::default());
    assert_eq!(alike(&plan, before), [false]);
    plan.models[0].profile = NumericProfile::Opencompass;
    assert_eq!(alike(&plan, before), [true]);
    plan.models[0].kind = ModelKind::Echo;
    assert_eq!(alike(&plan, before), [true]);
}

#[test]
fn what_is_not_kept_of_an_earlier_format_is_said_where_there_is_any() {
    let work_dir = tempfile::tempdir().unwrap();
    let (folder, mut plan, digest) = damaged_run(work_dir.path());
    plan.format = FORMAT_OF_THINKING - 1;
    plan.models[0].kind = ModelKind::Hf;
    let weights = compass_plan::weights::WeightsDigest::new(BTreeMap::new());
    plan.models[0].pin = Some(Pin { weights, generation: compass_plan::GenerationDefaults::default() });
    let said = |infer: InferSpec| {
        let mut before = plan.clone();
        before.datasets[0].infer = infer;
        let now = Plan { format: FORMAT_OF_THINKING, ..before.clone() };
        EarlierRun::read(&folder, before, digest, &BTreeMap::new()).unwrap().left_behind(&now)
    };
    assert_eq!(said(InferSpec::Ppl), [""; 0]);
    let said = said(InferSpec::Gen(GenSpec::default()));
    assert!(said.len() == 1 && said[0].contains("are not kept: they are of plan format 2, which"), "{said:?}");
}

#[test]
fn damaged_results_are_not_run_again_where_their_sample_is_known_and_never_taken_over() {
    let work_dir = tempfile::tempdir().unwrap();
    let (folder, plan, digest) = damaged_run(work_dir.path());
    let known = recorded(&folder, digest, &BTreeMap::new()).unwrap();
    assert_eq!(known.done(UnitId(0)).pairs(), [(0, 2)]);
    let earlier = EarlierRun::read(&folder, plan, digest, &BTreeMap::new()).unwrap();
    assert_eq!(earlier.results.keys().collect::<Vec<_>>(), [&(UnitId(0), 0)]);
}

/// A plan of two prompts with `answers` drawn answers to each.
fn drawing(prompts: [&str; 2], answers: u32) -> Planned {
    let sample = |(index, prompt): (u32, &str)| Sample {
        index,
        gold: 0.into(),
        shots: Vec::new(),
        body: Body::Gen { prompt: Prompt::question(prompt) },
    };
    let samples = (0..).zip(prompts).map(sample).collect();
    let mut planned = planned_of(Part { shots: Vec::new(), samples });
    let decoding = Decoding { do_sample: Some(true), num_return_sequences: Some(answers), ..Decoding::default() };
    planned.plan.datasets[0].infer = InferSpec::Gen(GenSpec { decoding, ..GenSpec::default() });
    planned.head = serde_json::to_vec(&planned.plan).unwrap();
    planned
}

fn answered(index: u32, answers: u32) -> SampleResult {
    let answer = |at: u32| Generation::new(format!("{at} to {index}"), 2, Finish::Eos);
    let fit = PromptFit { tokens: 9, ..PromptFit::default() };
    SampleResult { index, fit, outcome: Outcome::Generated((0..answers).map(answer).collect()) }
}

/// A run of a plan that took `carried` over and recorded `results`.
fn run_of(folder: &Path, planned: &Planned, carried: &CarriedOver, results: &[SampleResult]) -> EarlierRun {
    let folder = RunFolder::create(folder, "run").unwrap();
    let digest = write_plan(&folder, planned).unwrap();
    import(&folder, digest, "before", carried).unwrap();
    let entry = |result: &SampleResult| {
        let payload = v1::SampleResult::from(result).encode_to_vec();
        LedgerEntry { kind: Kind::Sample.into(), epoch: 1, worker: "w".into(), payload, ..LedgerEntry::default() }
    };
    let mut segment = Ledger::new(folder.ledger(), digest).create_segment(Epoch(1), "m").unwrap();
    segment.append(&results.iter().map(entry).collect::<Vec<_>>()).unwrap();
    EarlierRun::read(&folder, planned.plan.clone(), digest, &BTreeMap::new()).unwrap()
}

fn in_unit(results: &[SampleResult]) -> Vec<(UnitId, SampleResult)> {
    results.iter().map(|result| (UnitId(0), result.clone())).collect()
}

#[test]
fn answers_are_kept_whatever_their_number_is_now() {
    let prompts = ["one", "two"];
    let both = |answers: u32| [answered(0, answers), answered(1, answers)];
    let asked_again = |before: u32, now: u32| {
        let work_dir = tempfile::tempdir().unwrap();
        let run = run_of(work_dir.path(), &drawing(prompts, before), &CarriedOver::default(), &both(before));
        run.answers(&drawing(prompts, now)).unwrap()
    };
    let (more, same, fewer) = (asked_again(2, 5), asked_again(2, 2), asked_again(2, 1));
    assert_eq!((more.results, more.drawn), (vec![], in_unit(&both(2))));
    assert_eq!((same.results, same.drawn), (in_unit(&both(2)), vec![]));
    assert_eq!((fewer.results, fewer.drawn), (in_unit(&both(1)), vec![]));
    assert!([more.notes, same.notes, fewer.notes].concat().is_empty());
}

#[test]
fn a_run_that_was_stopped_while_it_drew_more_leaves_what_it_had_and_what_it_drew() {
    let (work_dir, prompts) = (tempfile::tempdir().unwrap(), ["one", "two"]);
    let before = CarriedOver { drawn: in_unit(&[answered(0, 2), answered(1, 2)]), ..CarriedOver::default() };
    let run = run_of(work_dir.path(), &drawing(prompts, 5), &before, &[answered(1, 5)]);
    assert_eq!(run.recorded(), 1);
    let carried = run.answers(&drawing(prompts, 5)).unwrap();
    assert_eq!((carried.results, carried.drawn), (in_unit(&[answered(1, 5)]), in_unit(&[answered(0, 2)])));
}

#[test]
fn nothing_that_was_drawn_is_kept_at_another_index() {
    for now in [2, 5] {
        let work_dir = tempfile::tempdir().unwrap();
        let before = drawing(["one", "two"], 2);
        let run = run_of(work_dir.path(), &before, &CarriedOver::default(), &[answered(0, 2), answered(1, 2)]);
        let carried = run.answers(&drawing(["two", "one"], now)).unwrap();
        assert_eq!((carried.results.len(), carried.drawn.len()), (0, 0));
        let note = "m/d: what run drew for 2 samples is not kept: their index in the data set is another now";
        assert!(carried.notes.len() == 1 && carried.notes[0].starts_with(note), "{:?}", carried.notes);
    }
    // Without draws the place does not matter.
    let greedy = |prompts: [&str; 2]| {
        let mut planned = drawing(prompts, 1);
        planned.plan.datasets[0].infer = InferSpec::Gen(GenSpec::default());
        planned.head = serde_json::to_vec(&planned.plan).unwrap();
        planned
    };
    let work_dir = tempfile::tempdir().unwrap();
    let results = [answered(0, 1), answered(1, 1)];
    let run = run_of(work_dir.path(), &greedy(["one", "two"]), &CarriedOver::default(), &results);
    let carried = run.answers(&greedy(["two", "one"])).unwrap();
    assert_eq!((carried.results.len(), carried.notes.len()), (2, 0));
    assert_eq!(carried.results[0].1, SampleResult { index: 0, ..answered(1, 1) });
}

#[test]
fn a_model_that_is_gone_is_known_though_its_card_is_gone_too() {
    let work_dir = tempfile::tempdir().unwrap();
    let (folder, mut plan, digest) = damaged_run(work_dir.path());
    let card =
        compass_plan::GenerationDefaults { temperature: Some(0.6), ..compass_plan::GenerationDefaults::default() };
    let written = Decoding { seed: Some(3), ..Decoding::default() };
    plan.models[0].decoding = written.with_card(&card);
    let known = plan.models[0].clone();
    let earlier = EarlierRun::read(&folder, plan, digest, &BTreeMap::new()).unwrap();
    let unread = compass_plan::GenerationDefaults::default();
    let gone = ModelPlan { decoding: written.with_card(&unread), ..known.clone() };
    assert_eq!(earlier.as_before(gone.clone(), true).decoding, known.decoding);
    assert_eq!(earlier.as_before(gone.clone(), false), gone, "where its files are, they count");
    let other = ModelPlan { decoding: Decoding { seed: Some(4), ..gone.decoding.clone() }, ..gone };
    assert_eq!(earlier.as_before(other.clone(), true), other);
    let explicit = ModelPlan { decoding: Decoding { card: false, ..known.decoding.clone() }, ..known.clone() };
    assert!(is_same_but_for_weights(&explicit, &known), "the same numbers, written");
}
