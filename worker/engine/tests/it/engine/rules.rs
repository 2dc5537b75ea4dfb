//! Rules of encoding, truncation, shots and stopping, on a model whose tokens are characters. Needs no data.

use crate::engine::support::{
    TinyModel, gen_spec, generated, loglikelihood_sample, ppl_sample, prompt_sample, run, run_all, tiny_plan,
};
use compass_engine::DeviceChoice;
use compass_plan::engine::{Engine, Request};
use compass_plan::prompt::{Prompt, Segment, Shot, ShotFormat};
use compass_plan::{Body, BosPolicy, InferSpec, OptionPrompt, Sample};
use compass_types::result::{Finish, Generation, LoglikelihoodScore, Outcome, PplScore, PromptFit, SampleResult};
use serde_json::json;

fn engine_with(bos: BosPolicy, max_seq_len: u32) -> Box<dyn Engine> {
    let directory = tempfile::tempdir().unwrap();
    TinyModel::default().write(directory.path());
    let mut plan = tiny_plan(directory.path());
    plan.bos = bos;
    plan.max_seq_len = Some(max_seq_len);
    // The map outlives the directory's entry.
    compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap()
}

fn ppl(engine: &mut dyn Engine, texts: &[&str]) -> (Vec<PplScore>, PromptFit) {
    let (mut results, _) = run_all(engine, &InferSpec::Ppl, &[ppl_sample(0, texts)]);
    match results.remove(0) {
        SampleResult { outcome: Outcome::Ppl(scores), fit, .. } => (scores, fit),
        other => panic!("{other:?}"),
    }
}

fn loglikelihood(engine: &mut dyn Engine, context: &str, options: &[&str]) -> (Vec<LoglikelihoodScore>, PromptFit) {
    let sample = loglikelihood_sample(0, context, options);
    let (mut results, _) = run_all(engine, &InferSpec::Loglikelihood, &[sample]);
    match results.remove(0) {
        SampleResult { outcome: Outcome::Loglikelihood(scores), fit, .. } => (scores, fit),
        other => panic!("{other:?}"),
    }
}

fn reason(engine: &mut dyn Engine, infer: &InferSpec, sample: Sample) -> String {
    let (mut results, _) = run_all(engine, infer, &[sample]);
    match results.remove(0).outcome {
        Outcome::Failed { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn ppl_counts_bos_and_short_texts_have_no_loss() {
    let mut with = engine_with(BosPolicy::Auto, 64);
    let (scores, fit) = ppl(with.as_mut(), &["abc", "", "<s>abc"]);
    assert_eq!(scores.iter().map(|score| score.tokens).collect::<Vec<_>>(), [4, 1, 4], "an own BOS is not doubled");
    assert_eq!((scores[1].nll_sum.to_bits(), scores[0]), (0f64.to_bits(), scores[2]));
    assert_eq!(fit, PromptFit { shots_kept: 0, tokens: 4, truncated_from: 0, ..PromptFit::default() });
    let mut without = engine_with(BosPolicy::Never, 64);
    let (scores, _) = ppl(without.as_mut(), &["abc", "a"]);
    assert_eq!((scores[0].tokens, scores[1]), (3, PplScore { nll_sum: 0.0, tokens: 1, normalizer: None }));
    let message = reason(without.as_mut(), &InferSpec::Ppl, ppl_sample(0, &["abc", ""]));
    assert!(message.contains("option 1") && message.contains("no tokens"), "{message}");
}

#[test]
fn ppl_is_the_sum_of_its_log_likelihoods() {
    let mut engine = engine_with(BosPolicy::Auto, 64);
    let (whole, _) = ppl(engine.as_mut(), &["hello world"]);
    let (parts, _) = loglikelihood(engine.as_mut(), "", &["hello world"]);
    assert_eq!((parts[0].tokens, parts[0].sum), (11, -whole[0].nll_sum), "an empty context is only BOS");
    let (head, _) = ppl(engine.as_mut(), &["hello"]);
    let (tail, _) = loglikelihood(engine.as_mut(), "hello", &[" world"]);
    assert_eq!(tail[0].tokens, 6);
    assert!((head[0].nll_sum - tail[0].sum - whole[0].nll_sum).abs() < 1e-4);
    let (moved, _) = loglikelihood(engine.as_mut(), "hello ", &["world"]);
    assert_eq!(moved, tail, "whitespace moves into the continuation");
}

#[test]
fn long_texts_are_truncated_on_the_left() {
    let mut engine = engine_with(BosPolicy::Never, 8);
    let (scores, fit) = ppl(engine.as_mut(), &["0123456789", "89"]);
    assert_eq!((scores[0].tokens, fit.truncated_from, fit.tokens), (8, 10, 8));
    assert_eq!(scores[0], ppl(engine.as_mut(), &["23456789"]).0[0]);
    let (scores, fit) = loglikelihood(engine.as_mut(), "01234567", &["89"]);
    assert_eq!((fit.truncated_from, fit.tokens), (10, 9), "one token more than is fed: the last is only predicted");
    assert_eq!(scores, loglikelihood(engine.as_mut(), "1234567", &["89"]).0);
    assert_eq!(loglikelihood(engine.as_mut(), "0", &["12345678"]).1.truncated_from, 0);
    let too_long = loglikelihood_sample(0, "0", &["1", "123456789"]);
    let message = reason(engine.as_mut(), &InferSpec::Loglikelihood, too_long);
    assert!(
        message.contains("option 1") && message.contains("9 tokens") && message.contains("limit of 8"),
        "{message}"
    );
    let message = reason(engine.as_mut(), &InferSpec::Loglikelihood, loglikelihood_sample(0, "abc", &[""]));
    assert!(message.contains("option 0") && message.contains("continuation"), "{message}");
}

#[test]
fn last_shots_are_dropped_first_and_equally_for_all_options() {
    let mut engine = engine_with(BosPolicy::Auto, 20);
    let prompt = |tail: &str| Prompt(vec![Segment::Shots, Segment::Question(tail.into())]);
    let option = |label: u32, tail: &str| OptionPrompt { label: json!(label), prompt: prompt(tail), answer: None };
    let body = Body::Ppl { options: vec![option(0, "ab"), option(1, "abcdef")] };
    let sample = Sample { index: 0, gold: json!(0), shots: vec![0, 1, 2], body };
    let format = ShotFormat { separator: "|".into(), end: "!".into() };
    let shots = ["one__", "two__", "three"].map(Shot::from);
    let request = Request::new(&sample, shots.iter().collect());
    let (results, _) = run(engine.as_mut(), &InferSpec::Ppl, &format, &[request]);
    // BOS + "one__|two__|three!" + 6 is 25 tokens, with two shots 19.
    assert_eq!(results[0].fit, PromptFit { shots_kept: 2, tokens: 19, truncated_from: 0, ..PromptFit::default() });
    let expected = ppl(engine.as_mut(), &["one__|two__!ab", "one__|two__!abcdef"]).0;
    let Outcome::Ppl(scores) = &results[0].outcome else { panic!("{results:?}") };
    for (score, expected) in scores.iter().zip(&expected) {
        // A prompt with shots is computed shot by shot, a whole text at once: the same number, but not the same bits.
        assert!((score.nll_sum - expected.nll_sum).abs() < 1e-4 && score.tokens == expected.tokens, "{scores:?}");
    }
    let shot = Shot::from("this one alone is already too long");
    let request = Request::new(&sample, vec![&shot]);
    let (results, _) = run(engine.as_mut(), &InferSpec::Ppl, &format, &[request]);
    assert_eq!(results[0].fit, PromptFit { shots_kept: 0, tokens: 8, truncated_from: 0, ..PromptFit::default() });
}

#[test]
fn without_max_seq_len_every_shot_stays_and_tokens_are_cut() {
    let directory = tempfile::tempdir().unwrap();
    TinyModel::default().write(directory.path());
    // The model has 64 positions.
    let mut engine = compass_engine::load(&tiny_plan(directory.path()), &DeviceChoice::Cpu, 1).unwrap();
    let prompt = || Prompt(vec![Segment::Shots, Segment::Question("ab".into())]);
    let ppl = Body::Ppl { options: vec![OptionPrompt { label: json!(0), prompt: prompt(), answer: None }] };
    let format = ShotFormat { separator: "|".into(), end: "!".into() };
    let shots = ["a", "b", "c", "d"].map(|letter| Shot::from(letter.repeat(20).as_str()));
    for (infer, body) in [(InferSpec::Ppl, ppl), (gen_spec(1, &[]), Body::Gen { prompt: prompt() })] {
        let sample = Sample { index: 0, gold: json!(0), shots: vec![0, 1, 2, 3], body };
        let request = Request::new(&sample, shots.iter().collect());
        let (results, _) = run(engine.as_mut(), &infer, &format, &[request]);
        // BOS, four shots of 20, three separators, the end and the question.
        assert_eq!(
            results[0].fit,
            PromptFit { shots_kept: 4, tokens: 64, truncated_from: 87, ..PromptFit::default() },
            "{infer:?}"
        );
    }
}

#[test]
fn generation_stops_at_stop_strings() {
    let mut engine = engine_with(BosPolicy::Auto, 32);
    let mut generate = |max_out_len: u32, stop: &[&str]| -> Generation {
        let (mut results, _) = run_all(engine.as_mut(), &gen_spec(max_out_len, stop), &[prompt_sample(0, "once upon")]);
        generated(&results.remove(0)).clone()
    };
    let free = generate(40, &[]);
    assert!(free.text.len() > 12 && free.finish != Finish::Stop, "{free:?}");
    let stop = &free.text[8..11];
    let cut = generate(40, &["never said", stop]);
    let at = free.text.find(stop).unwrap();
    assert_eq!((cut.text.as_str(), cut.finish), (&free.text[..at], Finish::Stop));
    assert_eq!(cut.tokens as usize, at + 3, "three tokens make the stop string, and no token follows");
    let none = generate(0, &[]);
    assert_eq!((none.text.as_str(), none.tokens, none.finish), ("", 0, Finish::Length));
    let short = generate(5, &[]);
    assert_eq!((short.text.as_str(), short.tokens), (&free.text[..5], 5));
}

#[test]
fn decoding_with_and_without_a_cache_is_equal() {
    let mut engine = engine_with(BosPolicy::Auto, 64);
    let mut checked = 0;
    for prompt in ["abc", "x", "once upon a time", "(1 + 2)", "zzzzzz", "Q: 7?"] {
        let (results, counters) = run_all(engine.as_mut(), &gen_spec(30, &[]), &[prompt_sample(0, prompt)]);
        let generation = generated(&results[0]);
        let (prompt_rows, steps) = (1 + prompt.len() as u64, u64::from(generation.tokens) - 1);
        assert_eq!(counters.computed, prompt_rows + steps);
        assert_eq!(counters.padded, 16u64.saturating_sub(prompt_rows) + 15 * steps);
        if generation.text.len() != generation.tokens as usize {
            continue; // A special token was generated: the text does not say where.
        }
        // Every generated token must be the most probable one when the whole text is scored at once.
        let (scores, _) = loglikelihood(engine.as_mut(), prompt, &[&generation.text]);
        assert!(scores[0].is_greedy && scores[0].tokens == generation.tokens, "{generation:?} {scores:?}");
        checked += 1;
    }
    assert!(checked >= 3, "{checked}");
}

#[test]
fn prompt_of_another_kind_and_empty_prompt() {
    let mut engine = engine_with(BosPolicy::Auto, 64);
    let message = reason(engine.as_mut(), &InferSpec::Ppl, prompt_sample(3, "x"));
    assert!(message.contains("`ppl`"), "{message}");
    let mut bare = engine_with(BosPolicy::Never, 64);
    let (from_bos, _) = run_all(engine.as_mut(), &gen_spec(5, &[]), &[prompt_sample(0, "")]);
    let (from_nothing, _) = run_all(bare.as_mut(), &gen_spec(5, &[]), &[prompt_sample(0, "")]);
    assert_eq!(from_bos, from_nothing, "an empty prompt is only BOS");
}
