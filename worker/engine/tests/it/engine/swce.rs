//! Windows that slide over all texts as one: `goldens/swce.json` has the losses of OpenCompass's own classes under torch, window by
//! window and over batches of two, made by `goldens/make_swce.py`.

use crate::engine::support::{demo_model, golden, run};
use compass_engine::DeviceChoice;
use compass_plan::engine::{Engine, Request};
use compass_plan::prompt::{Segment, Shot, ShotFormat};
use compass_plan::{Body, InferSpec, ModelKind, ModelPlan, Sample};
use compass_types::result::{Outcome, RollingScore};
use serde_json::Value;

fn engine(max_seq_len: u32) -> Box<dyn Engine> {
    let path = demo_model().to_str().unwrap().to_owned();
    let plan = ModelPlan { max_seq_len: Some(max_seq_len), ..ModelPlan::new("demo", ModelKind::Hf, path) };
    compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap()
}

fn corpus(texts: &[&str]) -> Shot {
    Shot::Turns(texts.iter().map(|text| Segment::Question((*text).into())).collect())
}

/// Outcomes of this many slices, in order.
fn outcomes(engine: &mut dyn Engine, shot: &Shot, (block_size, stride): (u32, u32), slices: u32) -> Vec<Outcome> {
    let sample = |slice| Sample {
        index: slice,
        gold: Value::Null,
        shots: vec![0],
        body: Body::Windows { slice, slices, characters: 1 },
    };
    let samples: Vec<Sample> = (0..slices).map(sample).collect();
    let requests: Vec<Request<'_>> = samples.iter().map(|sample| Request::new(sample, vec![shot])).collect();
    let (results, _) = run(engine, &InferSpec::SwceLoss { block_size, stride }, &ShotFormat::default(), &requests);
    results.into_iter().map(|result| result.outcome).collect()
}

fn scores(outcomes: &[Outcome]) -> Vec<RollingScore> {
    let score = |outcome: &Outcome| match outcome {
        Outcome::Rolling(score) => *score,
        other => panic!("{other:?}"),
    };
    outcomes.iter().map(score).collect()
}

#[test]
fn losses_are_those_of_opencompass_window_by_window() {
    let golden = golden("swce.json");
    let texts: Vec<&str> = golden["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    let shot = corpus(&texts);
    let mut engine = engine(511);
    for case in golden["cases"].as_array().unwrap() {
        let number = |key: &str| case[key].as_u64().unwrap() as u32;
        let (block, stride) = (number("block_size"), number("stride"));
        let windows: Vec<f64> = case["windows"].as_array().unwrap().iter().map(|loss| loss.as_f64().unwrap()).collect();
        let ours = scores(&outcomes(engine.as_mut(), &shot, (block, stride), windows.len() as u32));
        for (at, (ours, theirs)) in ours.iter().zip(&windows).enumerate() {
            assert_eq!(ours.tokens, if at == 0 { block } else { stride.min(block) }, "{at}");
            assert!((ours.sum + theirs).abs() < 1e-5 * theirs, "window {at}: {ours:?} and {theirs}");
        }
        // As they are cut into slices, of which some may have no window, makes no difference.
        let loss = case["loss"].as_f64().unwrap();
        for slices in [1, 3, windows.len() as u32 + 2] {
            let ours = scores(&outcomes(engine.as_mut(), &shot, (block, stride), slices));
            let sum: f64 = ours.iter().map(|score| score.sum).sum();
            assert!((sum + loss).abs() < 1e-5 * loss, "{slices} slices: {sum} and {loss}");
        }
    }
}

#[test]
fn a_slice_has_the_same_bits_alone_and_among_others() {
    let golden = golden("swce.json");
    let texts: Vec<&str> = golden["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    let (shot, infer) = (corpus(&texts), InferSpec::SwceLoss { block_size: 40, stride: 13 });
    let mut engine = engine(40);
    let together = scores(&outcomes(engine.as_mut(), &shot, (40, 13), 9));
    for slice in (0..9).rev() {
        let body = Body::Windows { slice, slices: 9, characters: 1 };
        let sample = Sample { index: slice, gold: Value::Null, shots: vec![0], body };
        let request = [Request::new(&sample, vec![&shot])];
        let (results, _) = run(engine.as_mut(), &infer, &ShotFormat::default(), &request);
        let alone = scores(&[results[0].outcome.clone()]);
        assert_eq!(alone[0].sum.to_bits(), together[slice as usize].sum.to_bits(), "slice {slice}");
    }
}

#[test]
fn what_does_not_fit_is_said_with_its_remedy() {
    let reason = |engine: &mut dyn Engine, texts: &[&str], block| {
        let outcomes = outcomes(engine, &corpus(texts), (block, 4), 1);
        let [Outcome::Failed { reason }] = outcomes.as_slice() else { panic!("{outcomes:?}") };
        reason.clone()
    };
    let (mut engine, text) = (engine(20), "12345 12345");
    let long = reason(engine.as_mut(), &[text], 21);
    assert_eq!(
        long,
        "a window of block_size 21 does not fit into the model's 20 tokens: write `block_size = 20` or less"
    );
    let short = reason(engine.as_mut(), &["1"], 20);
    assert_eq!(
        short,
        "all texts together have 2 tokens, fewer than the 21 of one window: write `block_size = 1` or less"
    );
    // Another corpus under the same engine has its own tokens.
    let other = scores(&outcomes(engine.as_mut(), &corpus(&[text, "1"]), (2, 1), 1));
    assert_ne!(other, scores(&outcomes(engine.as_mut(), &corpus(&[text, "1", "1"]), (2, 1), 1)));
    assert_eq!(other, scores(&outcomes(engine.as_mut(), &corpus(&[text, "1"]), (2, 1), 1)));
}
