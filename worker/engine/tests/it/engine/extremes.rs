//! Extreme prompts: a million characters, empty, with special tokens, and truncated on either side.

use crate::engine::support::{
    TinyModel, clp_sample, gen_spec, loglikelihood_sample, ppl_sample, prompt_sample, rolling_sample, run, run_all,
    tiny_plan,
};
use compass_engine::DeviceChoice;
use compass_plan::engine::{Engine, Request};
use compass_plan::prompt::{Prompt, Segment, Shot, ShotFormat};
use compass_plan::{Body, InferSpec, ModelPlan, Sample};
use compass_types::result::{Finish, Outcome, PromptFit};
use serde_json::json;

fn engine_of(change: impl FnOnce(&mut ModelPlan)) -> Box<dyn Engine> {
    let directory = tempfile::tempdir().unwrap();
    TinyModel::default().write(directory.path());
    let mut plan = tiny_plan(directory.path());
    change(&mut plan);
    compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap()
}

fn engine() -> Box<dyn Engine> {
    engine_of(|_| ())
}

#[test]
fn prompt_of_a_million_characters() {
    let mut engine = engine();
    let text: String = ('a'..='z').cycle().take(1_000_000).collect();
    let end = &text[text.len() - 63..];
    // BOS stays before the last 63 characters.
    let fit = PromptFit { shots_kept: 0, tokens: 64, truncated_from: 1_000_001, ..PromptFit::default() };
    let (long, counters) = run_all(engine.as_mut(), &InferSpec::Ppl, &[ppl_sample(0, &[&text])]);
    let (short, _) = run_all(engine.as_mut(), &InferSpec::Ppl, &[ppl_sample(0, &[end])]);
    assert_eq!((&long[0].outcome, long[0].fit.clone()), (&short[0].outcome, fit.clone()));
    assert_eq!(counters.computed, 63);
    let (long, _) = run_all(engine.as_mut(), &gen_spec(5, &[]), &[prompt_sample(0, &text)]);
    let (short, _) = run_all(engine.as_mut(), &gen_spec(5, &[]), &[prompt_sample(0, end)]);
    assert_eq!((&long[0].outcome, long[0].fit.clone()), (&short[0].outcome, fit));
    let (long, _) =
        run_all(engine.as_mut(), &InferSpec::Loglikelihood, &[loglikelihood_sample(0, &text, &[" yes", " no"])]);
    let (short, _) = run_all(
        engine.as_mut(),
        &InferSpec::Loglikelihood,
        &[loglikelihood_sample(0, &text[999_000..], &[" yes", " no"])],
    );
    assert_eq!(long[0].outcome, short[0].outcome);
    assert_eq!(long[0].fit.truncated_from, 1_000_005);
}

/// A thousand shots of a thousand characters, of which none fits: encoded ten times, not a thousand times.
#[test]
fn shots_of_a_million_characters() {
    let shot = Shot::from("x".repeat(1000).as_str());
    let prompt = Prompt(vec![Segment::Shots, Segment::Question("why?".into())]);
    let sample = Sample { index: 0, gold: json!(0), shots: (0..1000).collect(), body: Body::Gen { prompt } };
    let request = Request::new(&sample, vec![&shot; 1000]);
    let kept = PromptFit { shots_kept: 1000, tokens: 64, truncated_from: 1_000_005, ..PromptFit::default() };
    let dropped = PromptFit { shots_kept: 0, tokens: 5, truncated_from: 0, ..PromptFit::default() };
    // Shots are dropped only where the configuration says how long an input may be.
    for (max_seq_len, fit) in [(None, kept), (Some(64), dropped)] {
        let mut engine = engine_of(|plan| plan.max_seq_len = max_seq_len);
        let requests = std::slice::from_ref(&request);
        let (results, _) = run(engine.as_mut(), &gen_spec(3, &[]), &ShotFormat::default(), requests);
        assert_eq!(results[0].fit, fit, "{max_seq_len:?}");
    }
}

#[test]
fn long_text_is_scored_in_windows() {
    let mut engine = engine();
    let text: String = ('a'..='z').cycle().take(5000).collect();
    let (results, counters) = run_all(engine.as_mut(), &InferSpec::Rolling, &[rolling_sample(0, &text)]);
    let Outcome::Rolling(score) = &results[0].outcome else { panic!("{results:?}") };
    assert_eq!((score.tokens, results[0].fit.tokens, results[0].fit.truncated_from), (5001, 5001, 0));
    assert!(score.sum < -5000.0, "{score:?}");
    // 79 windows of at most 64 tokens: the last one is filled up with context. The alphabet repeats, so that some
    // windows are equal.
    assert_eq!(counters.submitted, 79 * 64);
    assert_eq!(counters.computed, counters.distinct);
    let (empty, _) = run_all(engine.as_mut(), &InferSpec::Rolling, &[rolling_sample(0, "")]);
    let Outcome::Rolling(score) = &empty[0].outcome else { panic!("{empty:?}") };
    assert_eq!(score.tokens, 1, "BOS after BOS, as lm-eval has it");
}

#[test]
fn truncation_on_the_right() {
    let mut right = engine_of(|plan| {
        plan.max_seq_len = Some(9);
        plan.tokenizer_kwargs.insert("truncation_side".into(), json!("right"));
        plan.tokenizer_kwargs.insert("use_fast".into(), json!(false));
    });
    assert!(right.facts().notes.iter().any(|note| note.contains("use_fast")), "{:?}", right.facts());
    let ppl =
        |engine: &mut dyn Engine, text: &str| run_all(engine, &InferSpec::Ppl, &[ppl_sample(0, &[text])]).0.remove(0);
    let (long, short) = (ppl(right.as_mut(), "0123456789"), ppl(right.as_mut(), "01234567"));
    assert_eq!((&long.outcome, long.fit.truncated_from), (&short.outcome, 11));
    let mut left = engine_of(|plan| plan.max_seq_len = Some(9));
    assert_eq!(ppl(left.as_mut(), "0123456789").outcome, ppl(left.as_mut(), "23456789").outcome);
    let message = engine_fault(|plan| {
        plan.tokenizer_kwargs.insert("truncation_side".into(), json!("up"));
    });
    assert!(message.contains("tokenizer_kwargs.truncation_side"), "{message}");
}

fn engine_fault(change: impl FnOnce(&mut ModelPlan)) -> String {
    let directory = tempfile::tempdir().unwrap();
    TinyModel::default().write(directory.path());
    let mut plan = tiny_plan(directory.path());
    change(&mut plan);
    compass_engine::load(&plan, &DeviceChoice::Cpu, 1).err().unwrap().to_string()
}

#[test]
fn special_tokens_in_a_prompt_are_tokens() {
    let mut engine = engine();
    let (results, _) = run_all(engine.as_mut(), &InferSpec::Ppl, &[ppl_sample(0, &["a</s>b", "a<s>b", "<s>ab"])]);
    let Outcome::Ppl(scores) = &results[0].outcome else { panic!("{results:?}") };
    assert_eq!(scores.iter().map(|score| score.tokens).collect::<Vec<_>>(), [4, 4, 3]);
    // As a stop string this token is detected, though texts are decoded without it.
    let mut answers = |stop: &[&str]| {
        let mut spec = gen_spec(300, stop);
        if let InferSpec::Gen(spec) = &mut spec {
            spec.decoding.do_sample = Some(true);
            spec.decoding.top_k = Some(0);
            spec.decoding.num_return_sequences = Some(16);
        }
        match run_all(engine.as_mut(), &spec, &[prompt_sample(0, "ab")]).0.remove(0).outcome {
            Outcome::Generated(answers) => answers,
            other => panic!("{other:?}"),
        }
    };
    let (free, stopped) = (answers(&[]), answers(&["<unk>"]));
    let mut shorter = 0;
    for (free, stopped) in free.iter().zip(&stopped) {
        assert!(free.text.starts_with(&stopped.text) && !free.text.contains("<unk>"), "{free:?} {stopped:?}");
        assert_eq!(stopped.finish == Finish::Stop, stopped.tokens < free.tokens, "{free:?} {stopped:?}");
        shorter += u32::from(stopped.tokens < free.tokens);
    }
    assert!(shorter >= 3, "{shorter} of 16 answers met the token");
}

#[test]
fn contexts_that_end_in_spaces_or_are_empty() {
    let mut engine = engine();
    let loglikelihood = |engine: &mut dyn Engine, context: &str, option: &str| {
        run_all(engine, &InferSpec::Loglikelihood, &[loglikelihood_sample(0, context, &[option])]).0.remove(0).outcome
    };
    let moved = loglikelihood(engine.as_mut(), "abc \n", "d");
    assert_eq!(moved, loglikelihood(engine.as_mut(), "abc", " \nd"));
    let (results, _) = run_all(engine.as_mut(), &InferSpec::Clp, &[clp_sample(0, "", &["a", "b"])]);
    let Outcome::Clp(log_probs) = &results[0].outcome else { panic!("{results:?}") };
    for (log_prob, option) in log_probs.iter().zip(["a", "b"]) {
        let Outcome::Loglikelihood(scores) = loglikelihood(engine.as_mut(), "", option) else { panic!("{option}") };
        assert!((scores[0].sum - log_prob).abs() < 1e-6, "{scores:?} {log_prob}");
    }
    let (results, _) = run_all(engine.as_mut(), &InferSpec::Clp, &[clp_sample(0, "a", &["b", ""])]);
    let Outcome::Failed { reason } = &results[0].outcome else { panic!("{results:?}") };
    assert!(reason.contains("no tokens"), "{reason}");
}

#[test]
fn tokenizer_kwargs_can_set_bos() {
    let tokens = |change: fn(&mut ModelPlan)| {
        let mut engine = engine_of(change);
        run_all(engine.as_mut(), &InferSpec::Ppl, &[ppl_sample(0, &["abc"])]).0[0].fit.tokens
    };
    assert_eq!(tokens(|_| ()), 4);
    assert_eq!(tokens(|plan| drop(plan.tokenizer_kwargs.insert("add_bos_token".into(), json!(false)))), 3);
}
