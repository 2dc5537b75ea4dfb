//! Drawn answers: each is a function of its (seed, sample, sequence), and together they follow the model. Needs no
//! data.

use crate::engine::support::{TinyModel, clp_sample, prompt_sample, run, run_all, tiny_plan};
use compass_engine::DeviceChoice;
use compass_plan::engine::{Engine, Request};
use compass_plan::prompt::ShotFormat;
use compass_plan::{Decoding, GenSpec, InferSpec, Sample};
use compass_types::result::{Generation, Outcome, SampleResult};
use std::collections::BTreeMap;

fn engine() -> Box<dyn Engine> {
    let directory = tempfile::tempdir().unwrap();
    TinyModel::default().write(directory.path());
    compass_engine::load(&tiny_plan(directory.path()), &DeviceChoice::Cpu, 1).unwrap()
}

fn spec(max_out_len: u32, seed: u64, sequences: u32) -> GenSpec {
    let mut spec = GenSpec { max_out_len: Some(max_out_len), ..GenSpec::default() };
    spec.decoding.do_sample = Some(true);
    spec.decoding.top_k = Some(0);
    spec.decoding.seed = Some(seed);
    spec.decoding.num_return_sequences = Some(sequences);
    spec
}

fn answers(result: &SampleResult) -> &[Generation] {
    match &result.outcome {
        Outcome::Generated(answers) => answers,
        other => panic!("{other:?}"),
    }
}

#[test]
fn draws_are_batch_invariant() {
    let mut engine = engine();
    let samples: Vec<Sample> = (0..12).map(|index| prompt_sample(index, "once upon")).collect();
    let infer = InferSpec::Gen(spec(10, 3, 4));
    let (together, counters) = run_all(engine.as_mut(), &infer, &samples);
    // The prompt of ten tokens is computed once for all four sequences of all twelve samples.
    let generated: u64 = together.iter().flat_map(answers).map(|answer| u64::from(answer.tokens)).sum();
    assert_eq!((counters.generated, counters.computed), (generated, 10 + generated - 48));
    let mut reversed = samples.clone();
    reversed.reverse();
    let (backwards, _) = run_all(engine.as_mut(), &infer, &reversed);
    for (sample, result) in samples.iter().zip(&together) {
        let (alone, _) = run_all(engine.as_mut(), &infer, std::slice::from_ref(sample));
        assert_eq!((&alone[0], &backwards[backwards.len() - 1 - sample.index as usize]), (result, result));
        let (one, _) = run_all(engine.as_mut(), &InferSpec::Gen(spec(10, 3, 1)), std::slice::from_ref(sample));
        assert_eq!(
            answers(&one[0]),
            &answers(result)[..1],
            "the first sequence does not depend on the number of sequences"
        );
    }
    let mut texts: Vec<&str> = together.iter().flat_map(answers).map(|answer| answer.text.as_str()).collect();
    texts.sort_unstable();
    texts.dedup();
    assert!(texts.len() >= 47, "{} of 48 answers differ", texts.len());
    let (other, _) = run_all(engine.as_mut(), &InferSpec::Gen(spec(10, 4, 4)), &samples);
    assert_ne!(other, together, "another seed");
}

#[test]
fn answers_follow_those_that_were_drawn_before() {
    let mut engine = engine();
    let samples: Vec<Sample> = (0..5).map(|index| prompt_sample(index, "once upon")).collect();
    let drawn = |index: u32| index % 4;
    let requests =
        samples.iter().map(|sample| Request { drawn: drawn(sample.index), ..Request::new(sample, Vec::new()) });
    let requests: Vec<Request<'_>> = requests.collect();
    let greedy = GenSpec { decoding: Decoding { do_sample: None, ..spec(10, 3, 7).decoding }, ..spec(10, 3, 7) };
    for spec in [spec(10, 3, 7), spec(0, 3, 7), greedy] {
        let infer = InferSpec::Gen(spec.clone());
        let (fresh, _) = run_all(engine.as_mut(), &infer, &samples);
        let (rest, counters) = run(engine.as_mut(), &infer, &ShotFormat::default(), &requests);
        for (fresh, rest) in fresh.iter().zip(&rest) {
            let first = fresh.clone().first_answers(drawn(fresh.index) as usize, false);
            assert_eq!(answers(rest).len() as u32, 7 - drawn(fresh.index));
            assert_eq!(rest.clone().after(&first, false), *fresh);
        }
        if spec.decoding.samples() {
            let generated: u64 = rest.iter().map(SampleResult::generated_tokens).sum();
            assert_eq!(counters.generated, generated, "and no token of the first answers");
        }
    }
}

/// Pearson's chi-square of first tokens over many samples against the probabilities that `clp` gives for the same
/// prompt.
#[test]
fn first_tokens_follow_the_model() {
    let mut engine = engine();
    let prompt = "once upon a time";
    let choices: Vec<String> = (' '..='~').map(String::from).collect();
    let names: Vec<&str> = choices.iter().map(String::as_str).collect();
    let (results, _) = run_all(engine.as_mut(), &InferSpec::Clp, &[clp_sample(0, prompt, &names)]);
    let Outcome::Clp(log_probs) = &results[0].outcome else { panic!("{results:?}") };
    let drawn = 20_000;
    let (results, _) = run_all(engine.as_mut(), &InferSpec::Gen(spec(1, 11, drawn)), &[prompt_sample(0, prompt)]);
    let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
    for answer in answers(&results[0]) {
        *counts.entry(answer.text.as_str()).or_default() += 1.0;
    }
    // Other tokens (a line break, special tokens, which have no text) and rare ones share one bin.
    let (mut statistic, mut bins, mut share, mut count) = (0.0, 0, 1.0, f64::from(drawn));
    let mut add =
        |share: f64, count: f64| statistic += (count - share * f64::from(drawn)).powi(2) / (share * f64::from(drawn));
    for (name, log_prob) in names.iter().zip(log_probs).filter(|(_, log_prob)| log_prob.exp() > 0.002) {
        let found = counts.get(name).copied().unwrap_or(0.0);
        add(log_prob.exp(), found);
        (bins, share, count) = (bins + 1, share - log_prob.exp(), count - found);
    }
    add(share, count);
    // The 0.999 quantile of chi-square with k degrees of freedom, after Wilson and Hilferty.
    let k = f64::from(bins);
    let border = k * (1.0 - 2.0 / (9.0 * k) + 3.09 * (2.0 / (9.0 * k)).sqrt()).powi(3);
    eprintln!("chi-square {statistic:.1} over {bins} degrees of freedom, border {border:.1}");
    assert!(bins > 20 && statistic < border, "{statistic} {bins}");
}

#[test]
fn generation_config_applies_unless_overridden() {
    let directory = tempfile::tempdir().unwrap();
    TinyModel::default().write(directory.path());
    let load = || compass_engine::load(&tiny_plan(directory.path()), &DeviceChoice::Cpu, 1).unwrap();
    let run =
        |engine: &mut dyn Engine, spec: GenSpec| run_all(engine, &InferSpec::Gen(spec), &[prompt_sample(0, "abc")]).0;
    let plain = GenSpec { max_out_len: Some(20), ..GenSpec::default() };
    let mut penalised = plain.clone();
    penalised.decoding.repetition_penalty = Some(1.7);
    let mut warped = spec(20, 9, 1);
    (warped.decoding.top_k, warped.decoding.top_p, warped.decoding.temperature) = (Some(3), Some(0.9), Some(0.5));
    let (greedy, expected, drawn) = {
        let mut engine = load();
        warped.decoding.repetition_penalty = Some(1.7);
        (run(engine.as_mut(), plain.clone()), run(engine.as_mut(), penalised), run(engine.as_mut(), warped))
    };
    let file = r#"{"repetition_penalty": 1.7, "top_k": 3, "top_p": 0.9, "temperature": 0.5, "eos_token_id": 2}"#;
    std::fs::write(directory.path().join("generation_config.json"), file).unwrap();
    let mut engine = load();
    assert!(engine.facts().notes.iter().any(|note| note.contains("repetition_penalty 1.7")), "{:?}", engine.facts());
    assert_eq!(run(engine.as_mut(), plain.clone()), expected);
    let mut open = spec(20, 9, 1);
    open.decoding.top_k = None;
    assert_eq!(run(engine.as_mut(), open), drawn);
    let mut off = plain;
    off.decoding.repetition_penalty = Some(1.0);
    assert_eq!(run(engine.as_mut(), off), greedy);
    assert_ne!(greedy, expected);
}

#[test]
fn temperature_top_k_and_invalid_draws() {
    let mut engine = engine();
    let greedy = InferSpec::Gen(GenSpec { max_out_len: Some(8), ..GenSpec::default() });
    let (best, _) = run_all(engine.as_mut(), &greedy, &[prompt_sample(0, "abc")]);
    for change in [
        |spec: &mut GenSpec| spec.decoding.top_k = Some(1),
        |spec: &mut GenSpec| spec.decoding.temperature = Some(1e-4),
    ] {
        let mut spec = spec(8, 5, 1);
        change(&mut spec);
        assert_eq!(run_all(engine.as_mut(), &InferSpec::Gen(spec), &[prompt_sample(0, "abc")]).0, best);
    }
    let mut cold = spec(8, 5, 1);
    cold.decoding.temperature = Some(0.0);
    let (results, _) = run_all(engine.as_mut(), &InferSpec::Gen(cold), &[prompt_sample(0, "abc")]);
    let Outcome::Failed { reason } = &results[0].outcome else { panic!("{results:?}") };
    assert!(reason.contains("temperature is 0"), "{reason}");
    assert!(engine.take_notes().is_empty());
    let mut open = spec(2, 5, 2);
    open.decoding.top_k = None;
    run_all(engine.as_mut(), &InferSpec::Gen(open.clone()), &[prompt_sample(0, "abc")]);
    assert!(engine.take_notes()[0].contains("50 most probable"));
    open.decoding.do_sample = Some(false);
    let (same, _) = run_all(engine.as_mut(), &InferSpec::Gen(open), &[prompt_sample(0, "abc")]);
    assert_eq!(answers(&same[0])[0], answers(&same[0])[1]);
    assert!(engine.take_notes()[0].contains("do_sample"));
}
