//! The demo's model under lm-eval's own HF backend: `goldens/requests.json` has its values.

use crate::engine::support::{
    demo_model, generated, golden, loglikelihood_sample, prompt_sample, rolling_sample, run_all, text,
};
use compass_engine::DeviceChoice;
use compass_plan::engine::Engine;
use compass_plan::{Dtype, GenSpec, InferSpec, ModelKind, ModelPlan, NumericProfile};
use compass_types::result::Outcome;
use serde_json::Value;

fn load(profile: NumericProfile, dtype: Dtype, max_seq_len: u32) -> Box<dyn Engine> {
    let path = demo_model().to_str().unwrap().to_owned();
    let plan =
        ModelPlan { profile, dtype, max_seq_len: Some(max_seq_len), ..ModelPlan::new("demo", ModelKind::Hf, path) };
    compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap()
}

fn list<'a>(entry: &'a Value, key: &str) -> &'a [Value] {
    entry[key].as_array().unwrap()
}

/// Compares log-likelihoods, rolling ones and greediness; `near(got, expected, tokens)` returns whether two sums agree.
fn compare(engine: &mut dyn Engine, entry: &Value, near: impl Fn(f64, f64, u32) -> bool) {
    for case in list(entry, "loglikelihood") {
        let sample = loglikelihood_sample(0, text(case, "context"), &[text(case, "continuation")]);
        let (results, _) = run_all(engine, &InferSpec::Loglikelihood, &[sample]);
        let Outcome::Loglikelihood(scores) = &results[0].outcome else { panic!("{results:?} {case}") };
        assert!(near(scores[0].sum, case["sum"].as_f64().unwrap(), scores[0].tokens), "{scores:?} {case}");
        assert_eq!(scores[0].is_greedy, case["is_greedy"].as_bool().unwrap(), "{case}");
    }
    for case in list(entry, "rolling") {
        let (results, _) = run_all(engine, &InferSpec::Rolling, &[rolling_sample(0, text(case, "text"))]);
        let Outcome::Rolling(score) = &results[0].outcome else { panic!("{results:?} {case}") };
        assert!(near(score.sum, case["sum"].as_f64().unwrap(), score.tokens), "{score:?} {case}");
    }
    assert_eq!((list(entry, "loglikelihood").len(), list(entry, "rolling").len()), (43, 6));
}

#[test]
fn scores_in_fp32_long_and_short() {
    let golden = golden("requests.json");
    let near = |got: f64, expected: f64, tokens: u32| (got - expected).abs() < 1e-4 * f64::from(tokens);
    for profile in [NumericProfile::Canonical, NumericProfile::LmEvalHf] {
        compare(load(profile, Dtype::Float32, 512).as_mut(), &golden["lm_eval_float32"], near);
        compare(load(profile, Dtype::Float32, 24).as_mut(), &golden["lm_eval_short"], near);
    }
}

/// In bfloat16 a sum and every logit have eight significant bits: a difference of one step of either is accepted.
#[test]
fn scores_in_bfloat16_are_as_coarse_as_there() {
    let golden = golden("requests.json");
    let near = |got: f64, expected: f64, tokens: u32| {
        (got - expected).abs() <= expected.abs() / 128.0 + 0.02 * f64::from(tokens)
            && (got as f32).to_bits() & 0xffff == 0
    };
    compare(load(NumericProfile::LmEvalHf, Dtype::Bfloat16, 512).as_mut(), &golden["lm_eval_bfloat16"], near);
}

/// Eleven significant bits, and the same greedy choices.
#[test]
fn scores_in_float16_are_near_those_in_fp32() {
    let golden = golden("requests.json");
    let near =
        |got: f64, expected: f64, tokens: u32| (got - expected).abs() <= 0.004 * (expected.abs() + f64::from(tokens));
    compare(load(NumericProfile::LmEvalHf, Dtype::Float16, 512).as_mut(), &golden["lm_eval_float32"], near);
    compare(load(NumericProfile::Canonical, Dtype::Float16, 512).as_mut(), &golden["lm_eval_float32"], near);
}

#[test]
fn generate_until_long_and_short() {
    let golden = golden("requests.json");
    for (key, max_seq_len) in [("lm_eval_float32", 512), ("lm_eval_short", 24)] {
        let mut engine = load(NumericProfile::LmEvalHf, Dtype::Float32, max_seq_len);
        let cases = list(&golden[key], "generate_until");
        for case in cases {
            let stop = vec!["\n".to_owned(), ".".to_owned()];
            let infer = InferSpec::Gen(GenSpec { max_out_len: Some(16), stop, ..GenSpec::default() });
            let (results, _) = run_all(engine.as_mut(), &infer, &[prompt_sample(0, text(case, "prompt"))]);
            assert_eq!(generated(&results[0]).text, text(case, "text"), "{case}");
        }
        assert_eq!(cases.len(), 12);
    }
    let mut engine = load(NumericProfile::LmEvalHf, Dtype::Float32, 24);
    let infer = InferSpec::Gen(GenSpec { max_out_len: Some(24), ..GenSpec::default() });
    let (results, _) = run_all(engine.as_mut(), &infer, &[prompt_sample(0, "x")]);
    let Outcome::Failed { reason } = &results[0].outcome else { panic!("{results:?}") };
    assert!(reason.contains("max_out_len 24") && reason.contains("max_seq_len 24"), "{reason}");
}
