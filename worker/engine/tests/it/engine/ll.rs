//! OpenCompass's `LLInferencer` with five shots: `goldens/ll.json` has the values of its base class. The data set
//! decides the formula; a profile may ask for another one.

use crate::engine::support::{demo_model, golden};
use compass_engine::DeviceChoice;
use compass_eval::evaluator::judge;
use compass_plan::engine::{BatchSpec, Request};
use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::prompt::{PromptConfig, Row, Shot, Template, TemplateText, render};
use compass_plan::retriever::RetrieverKind;
use compass_plan::{Body, EvalSpec, InferSpec, ModelKind, ModelPlan, NumericProfile};
use compass_types::result::{Outcome, SampleResult};
use serde_json::Value;

/// As in the preset `winogrande_5shot_ll_252f01`.
fn config() -> PromptConfig {
    let labels = |pairs: [(&str, &str); 2]| {
        Some(Template::Labels(pairs.map(|(label, text)| (label.to_owned(), text.to_owned())).to_vec()))
    };
    PromptConfig {
        ice_template: labels([("A", "{before}{option1}{cont}"), ("B", "{before}{option2}{cont}")]),
        prompt_template: labels([("A", "</E>{before}{option1}"), ("B", "</E>{before}{option2}")]),
        target: Some(TemplateText::Text("{cont}".into())),
        target_delimiter: String::new(),
        ..PromptConfig::default()
    }
}

/// Returns scores of both names and the chosen one, sample by sample.
fn scored(golden: &Value, infer: &InferSpec, profile: NumericProfile) -> Vec<(Vec<f64>, Value)> {
    scored_by(golden, infer, profile, false)
}

/// The same of a model that sums.
fn scored_by(golden: &Value, infer: &InferSpec, profile: NumericProfile, sums: bool) -> Vec<(Vec<f64>, Value)> {
    let rows = |split: &str| -> Vec<Row> {
        golden[split].as_array().unwrap().iter().map(|row| row.as_object().unwrap().clone()).collect()
    };
    let retriever = RetrieverKind::FixK { ids: vec![0, 1, 2, 3, 4], exclude_question: false };
    let rendered = render(&config(), infer, Some("answer"), &retriever, &rows("test"), &rows("train")).unwrap();
    let shots = |sample: &compass_plan::Sample| -> Vec<&Shot> {
        sample.shots.iter().map(|&at| &rendered.shots[at as usize]).collect()
    };
    for (sample, expected) in rendered.samples.iter().zip(golden["samples"].as_array().unwrap()) {
        let Body::Loglikelihood { options, .. } = &sample.body else { panic!("{sample:?}") };
        for (option, prompt) in options.iter().zip(expected["prompts"].as_array().unwrap()) {
            let context = option.context.as_ref().unwrap().render(&shots(sample), &rendered.format);
            assert_eq!(*prompt, format!("{context}{}", option.continuation));
        }
    }
    let path = demo_model().to_str().unwrap().to_owned();
    let named = ModelPlan::new("m", ModelKind::Hf, path);
    let plan = ModelPlan { profile, max_seq_len: Some(512), sums_loglikelihood: sums, ..named };
    let mut engine = compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap();
    let spec = BatchSpec {
        infer: infer.clone(),
        shot_format: rendered.format.clone(),
        meta_template: None,
        takes_programs: false,
    };
    let requests: Vec<Request<'_>> =
        rendered.samples.iter().map(|sample| Request::new(sample, shots(sample))).collect();
    let mut results = Vec::new();
    engine.run(&spec, &requests, &mut |result| results.push(result)).unwrap();
    results.sort_by_key(|result: &SampleResult| result.index);
    let eval = EvalSpec::new(EvaluatorSpec::Acc);
    let of = |(sample, result): (&compass_plan::Sample, &SampleResult)| {
        let Outcome::Loglikelihood(scores) = &result.outcome else { panic!("{result:?}") };
        let sums = scores.iter().map(|score| score.sum).collect();
        (sums, judge(sample, result, &eval).unwrap().prediction)
    };
    rendered.samples.iter().zip(&results).map(of).collect()
}

#[test]
fn ll_is_opencompass_by_default() {
    let golden = golden("ll.json");
    let expected = golden["samples"].as_array().unwrap();
    for (infer, profile) in [
        (InferSpec::MeanLoglikelihood, NumericProfile::Canonical),
        (InferSpec::MeanLoglikelihood, NumericProfile::Opencompass),
        (InferSpec::Loglikelihood, NumericProfile::Opencompass),
    ] {
        let scored = scored(&golden, &infer, profile);
        assert_eq!((scored.len(), expected.len()), (24, 24));
        for ((scores, prediction), expected) in scored.iter().zip(expected) {
            for (score, theirs) in scores.iter().zip(expected["scores"].as_array().unwrap()) {
                assert!((score - theirs.as_f64().unwrap()).abs() < 1e-4, "{score} and {theirs}");
            }
            assert_eq!(*prediction, expected["prediction"]);
        }
    }
}

/// The continuation occurs in the shots, too, and is taken out there as well: more tokens are summed than it has.
#[test]
fn models_of_older_classes_sum() {
    let golden = golden("ll.json");
    let expected = golden["samples"].as_array().unwrap();
    for profile in [NumericProfile::Canonical, NumericProfile::Opencompass] {
        let scored = scored_by(&golden, &InferSpec::MeanLoglikelihood, profile, true);
        assert_eq!((scored.len(), expected.len()), (24, 24));
        for ((scores, prediction), expected) in scored.iter().zip(expected) {
            for (score, theirs) in scores.iter().zip(expected["sums"].as_array().unwrap()) {
                assert!((score - theirs.as_f64().unwrap()).abs() < 1e-3, "{score} and {theirs}");
            }
            assert_eq!(*prediction, expected["prediction_of_sums"]);
        }
    }
    let others = expected.iter().filter(|sample| sample["prediction"] != sample["prediction_of_sums"]).count();
    assert_eq!(others, 4);
}

#[test]
fn lm_evals_sum_is_optional() {
    let golden = golden("ll.json");
    let sum = scored(&golden, &InferSpec::Loglikelihood, NumericProfile::Canonical);
    let asked = scored(&golden, &InferSpec::MeanLoglikelihood, NumericProfile::LmEvalHf);
    for ((ours, prediction), (theirs, expected)) in asked.iter().zip(&sum) {
        assert_eq!(prediction, expected);
        assert!(ours.iter().zip(theirs).all(|(a, b)| (a - b).abs() < 1e-3), "{ours:?} and {theirs:?}");
    }
    let mean = scored(&golden, &InferSpec::MeanLoglikelihood, NumericProfile::Canonical);
    let other = sum.iter().zip(&mean).filter(|((_, sum), (_, mean))| sum != mean).count();
    assert!(other > 0 && sum.len() == 24, "the formulas choose differently, so that a preset must say which it means");
}
