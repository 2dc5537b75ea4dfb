//! The demo's model under OpenCompass's own classes, mode by mode: `goldens/requests.json` has their values, and
//! `goldens/truncation.json` the values of prompts that are too long.

use crate::engine::support::{
    TinyModel, clp_sample, demo_model, gen_spec, generated, golden, loglikelihood_sample, ppl_sample, prompt_sample,
    run_all, text, texts,
};
use compass_engine::DeviceChoice;
use compass_plan::engine::Engine;
use compass_plan::{DropMiddle, GenSpec, InferSpec, ModelKind, ModelPlan, NumericProfile};
use compass_types::result::{Outcome, SampleResult};
use serde_json::{Value, json};

fn plan(max_seq_len: u32) -> ModelPlan {
    let profile = NumericProfile::Opencompass;
    let path = demo_model().to_str().unwrap().to_owned();
    ModelPlan { profile, max_seq_len: Some(max_seq_len), ..ModelPlan::new("demo", ModelKind::Hf, path) }
}

fn load(plan: &ModelPlan) -> Box<dyn Engine> {
    compass_engine::load(plan, &DeviceChoice::Cpu, 1).unwrap()
}

fn ppl(result: &SampleResult) -> f64 {
    match &result.outcome {
        Outcome::Ppl(scores) if scores.len() == 1 => scores[0].mean(),
        other => panic!("{other:?}"),
    }
}

fn cases(key: &str) -> Vec<Value> {
    golden("requests.json")[key].as_array().unwrap().clone()
}

#[track_caller]
fn assert_near(got: f64, expected: &Value, case: &Value) {
    assert!((got - expected.as_f64().unwrap()).abs() < 1e-4, "{got} in {case}");
}

#[test]
fn ppl_whole_and_truncated() {
    let (mut engine, mut short) = (load(&plan(512)), load(&plan(12)));
    let mut canonical = load(&ModelPlan { profile: NumericProfile::Canonical, ..plan(512) });
    let cases = cases("ppl");
    for case in &cases {
        for infer in [InferSpec::Ppl, InferSpec::PplOnly] {
            let sample = match infer {
                InferSpec::Ppl => ppl_sample(0, &[text(case, "text")]),
                _ => prompt_sample(0, text(case, "text")),
            };
            let (results, _) = run_all(engine.as_mut(), &infer, std::slice::from_ref(&sample));
            assert_near(ppl(&results[0]), &case["ppl"], case);
            let (results, _) = run_all(short.as_mut(), &infer, std::slice::from_ref(&sample));
            assert_near(ppl(&results[0]), &case["short"], case);
            // The end token, with which rows are padded, is the only difference between the profiles.
            let (results, _) = run_all(canonical.as_mut(), &infer, &[sample]);
            let same = (ppl(&results[0]) - case["ppl"].as_f64().unwrap()).abs() < 1e-4;
            assert_eq!(same, !text(case, "text").contains("</s>"), "{case}");
        }
    }
    assert_eq!(cases.len(), 6);
}

#[test]
fn ppl_with_a_normaliser() {
    for profile in [NumericProfile::Opencompass, NumericProfile::Canonical] {
        let mut engine = load(&ModelPlan { profile, ..plan(512) });
        let cases = cases("normalized");
        for case in &cases {
            let answer = text(case, "answer");
            let mut sample = ppl_sample(0, &[&format!("{}{answer}", text(case, "context"))]);
            let compass_plan::Body::Ppl { options } = &mut sample.body else { panic!("{sample:?}") };
            options[0].answer = Some(answer.to_owned());
            let infer = InferSpec::PplNormalized { normalizing_str: text(case, "normalizing_str").to_owned() };
            let (results, _) = run_all(engine.as_mut(), &infer, &[sample]);
            assert_near(ppl(&results[0]), &case["score"], case);
        }
        assert_eq!(cases.len(), 12);
    }
}

#[test]
fn loglikelihood_of_the_base_class() {
    let mut engine = load(&plan(512));
    let cases = cases("opencompass_ll");
    for case in &cases {
        let sample = loglikelihood_sample(0, text(case, "context"), &[text(case, "continuation")]);
        let (results, _) = run_all(engine.as_mut(), &InferSpec::Loglikelihood, &[sample]);
        let Outcome::Loglikelihood(scores) = &results[0].outcome else { panic!("{results:?}") };
        assert_near(scores[0].sum, &case["score"], case);
    }
    assert_eq!(cases.len(), 6);
}

#[test]
fn conditional_probabilities_of_choices() {
    let mut engine = load(&plan(512));
    let cases = cases("clp");
    for case in &cases {
        let (results, _) =
            run_all(engine.as_mut(), &InferSpec::Clp, &[clp_sample(0, text(case, "prompt"), &texts(case, "choices"))]);
        let Outcome::Clp(log_probs) = &results[0].outcome else { panic!("{results:?}") };
        let sum: f64 = log_probs.iter().map(|log_prob| log_prob.exp()).sum();
        for (log_prob, expected) in log_probs.iter().zip(case["prediction"].as_array().unwrap()) {
            assert!((log_prob.exp() / sum - expected.as_f64().unwrap()).abs() < 1e-5, "{log_prob} {case}");
        }
        assert_eq!(log_probs.len(), 5);
    }
    assert_eq!(cases.len(), 6);
    let notes = engine.take_notes();
    assert!(notes.iter().any(|note| note.contains("choice \"A\"") && note.contains("space before")), "{notes:?}");
    assert!(engine.take_notes().is_empty(), "notes are returned once");
}

#[test]
fn generation_with_penalties_lengths_and_stop_strings() {
    for profile in [NumericProfile::Opencompass, NumericProfile::Canonical] {
        let mut engine = load(&ModelPlan { profile, ..plan(512) });
        let mut differing = 0;
        let cases = cases("opencompass_gen");
        for case in &cases {
            let mut spec = GenSpec { max_out_len: Some(24), ..GenSpec::default() };
            spec.stop = texts(case, "stop").into_iter().map(str::to_owned).collect();
            spec.min_out_len = case["min_out_len"].as_u64().map(|least| least as u32);
            spec.decoding.repetition_penalty = case["repetition_penalty"].as_f64();
            let sample = prompt_sample(0, text(case, "prompt"));
            let (results, _) = run_all(engine.as_mut(), &InferSpec::Gen(spec), &[sample]);
            if generated(&results[0]).text != text(case, "text") {
                // Only then a prompt that ends in a stop string ends the answer at once.
                let ends = texts(case, "stop").iter().any(|stop| text(case, "prompt").contains(stop));
                assert!(profile == NumericProfile::Canonical && ends, "{:?} {case}", generated(&results[0]));
                differing += 1;
            }
        }
        assert_eq!(cases.len(), 35);
        assert!(differing <= 6, "{differing}");
    }
    let mut short = load(&plan(12));
    for case in cases("opencompass_gen_short") {
        let (results, _) = run_all(short.as_mut(), &gen_spec(16, &[]), &[prompt_sample(0, text(&case, "prompt"))]);
        assert_eq!(generated(&results[0]).text, text(&case, "text"), "{case}");
    }
}

/// The demo's model with a chat template.
fn with_template(template: &Value) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(demo_model()).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, directory.path().join(path.file_name().unwrap())).unwrap();
    }
    let config = directory.path().join("tokenizer_config.json");
    let mut settings: Value = serde_json::from_slice(&std::fs::read(&config).unwrap()).unwrap();
    settings["chat_template"] = template.clone();
    std::fs::write(&config, settings.to_string()).unwrap();
    directory
}

/// Sets a plan as a case of `truncation.json` has it: with its class's defaults, and with its settings.
fn truncation(plan: &mut ModelPlan, case: &Value) {
    let side = case["tokenizer_kwargs"]["truncation_side"].as_str();
    let mid = case["mode"] == "mid";
    match text(case, "class") {
        "HuggingFaceBaseModel" => plan.truncation.middle = Some(DropMiddle::Tokens),
        "HuggingFacewithChatTemplate" => {
            plan.chat = true;
            plan.truncation.middle = Some(DropMiddle::Tokens);
            plan.truncation.reserves_answer = true;
        }
        "HuggingFaceCausalLM" => {
            plan.truncation.middle = mid.then_some(DropMiddle::Texts);
            plan.truncation.reserves_answer = true;
            plan.tokenizer_kwargs.insert("truncation_side".into(), side.unwrap_or("own").into());
        }
        other => panic!("{other}"),
    }
}

#[test]
fn prompts_that_are_too_long_are_shortened_as_each_class_does_it() {
    let golden = golden("truncation.json");
    let directory = with_template(&golden["chat_template"]);
    let path = directory.path().to_str().unwrap();
    let cases = golden["cases"].as_array().unwrap();
    for case in cases {
        let max_seq_len = case["max_seq_len"].as_u64().map(|length| length as u32);
        let profile = NumericProfile::Opencompass;
        let mut plan = ModelPlan { profile, max_seq_len, ..ModelPlan::new("demo", ModelKind::Hf, path) };
        truncation(&mut plan, case);
        let mut engine = load(&plan);
        let sample = prompt_sample(0, text(case, "prompt"));
        let length = golden["max_out_len"].as_u64().unwrap() as u32;
        let (results, _) = run_all(engine.as_mut(), &gen_spec(length, &[]), &[sample]);
        assert_eq!(results[0].fit.tokens as usize, case["ids"].as_array().unwrap().len(), "{case}");
        assert_eq!(generated(&results[0]).text, text(case, "text"), "{case}");
        if !case["ppl"].is_null() {
            let (results, _) = run_all(engine.as_mut(), &InferSpec::Ppl, &[ppl_sample(0, &[text(case, "prompt")])]);
            assert_near(ppl(&results[0]), &case["ppl"], case);
        }
    }
    assert_eq!(cases.len(), 55);
}

#[test]
fn a_prompt_has_a_limit_of_its_own() {
    let mut plan = plan(512);
    plan.max_seq_len = None;
    plan.truncation.max_prompt_len = Some(12);
    let (mut engine, mut short) = (load(&plan), load(&self::plan(12)));
    for case in cases("ppl") {
        let asked = [ppl_sample(0, &[text(&case, "text")])];
        let (cut, _) = run_all(engine.as_mut(), &InferSpec::Ppl, &asked);
        assert_eq!(cut, run_all(short.as_mut(), &InferSpec::Ppl, &asked).0, "{case}");
    }
    plan.truncation.reserves_answer = true;
    let (results, _) = run_all(load(&plan).as_mut(), &gen_spec(12, &[]), &[prompt_sample(0, "a")]);
    let Outcome::Failed { reason } = &results[0].outcome else { panic!("{results:?}") };
    assert!(reason.contains("leaves no room") && reason.contains("`reserve_max_out_len`"), "{reason}");
}

#[test]
fn chat_template_and_its_stop_strings() {
    let template = golden("requests.json")["chat_template"].clone();
    let directory = with_template(&template);
    let path = directory.path().to_str().unwrap().to_owned();
    let plan = ModelPlan { chat: true, ..ModelPlan::new("chat", ModelKind::Hf, path) };
    let mut engine = load(&plan);
    let cases = cases("chat");
    for case in &cases {
        let sample = prompt_sample(0, text(case, "prompt"));
        let (results, _) = run_all(engine.as_mut(), &gen_spec(24, &texts(case, "stop")), &[sample]);
        assert_eq!(generated(&results[0]).text, text(case, "text"), "{case}");
    }
    assert_eq!(cases.len(), 18);
    assert!(engine.take_notes().is_empty());
    run_all(engine.as_mut(), &InferSpec::Ppl, &[ppl_sample(0, &["a b"])]);
    let notes = engine.take_notes();
    assert!(notes[0].contains("`ppl` on a chat model") && notes.len() == 1, "{notes:?}");
}

#[test]
fn chat_model_without_a_template() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = TinyModel::default();
    model.write(directory.path());
    let path = directory.path().to_str().unwrap().to_owned();
    let plan = ModelPlan { chat: true, ..ModelPlan::new("chat", ModelKind::Hf, path) };
    let message = compass_engine::load(&plan, &DeviceChoice::Cpu, 1).err().unwrap().to_string();
    assert!(message.contains("no chat template") && message.contains("chat = false"), "{message}");
    model.tokenizer_config["chat_template"] = json!("{{ raise_exception('no such role') }}");
    model.write(directory.path());
    let mut engine = load(&plan);
    let (results, _) = run_all(engine.as_mut(), &gen_spec(4, &[]), &[prompt_sample(0, "x")]);
    let Outcome::Failed { reason } = &results[0].outcome else { panic!("{results:?}") };
    assert!(reason.contains("no such role"), "{reason}");
}
