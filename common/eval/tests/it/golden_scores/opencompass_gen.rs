//! OpenCompass's `gen` configurations: what each output is taken for, every score and every figure.

use crate::golden_scores::golden::{dataset, generated, read, read_json as golden_json, text};
use compass_eval::evaluator::{Accumulator, judge};
use compass_eval::report::{prediction_record, write_records};
use compass_plan::evaluation::GaokaoQuestion;
use compass_plan::evaluation::{EvaluatorSpec, TextCheck};
use compass_plan::prompt::Prompt;
use compass_plan::{Body, EvalSpec, GenSpec, InferSpec, Part, Sample};
use compass_postprocess::Postprocessor;
use serde_json::{Map, Value, json};

#[test]
fn gsm8k_to_the_byte() {
    let Some(records) = golden_json("opencompass/gsm8k_gen_1d7fe4/predictions/gsm8k.json") else { return };
    let bytes = read("opencompass/gsm8k_gen_1d7fe4/predictions/gsm8k.json").unwrap();
    let results = golden_json("opencompass/gsm8k_gen_1d7fe4/results/gsm8k.json").unwrap();
    let spec = EvalSpec {
        pred_postprocessors: vec![Postprocessor::Gsm8k],
        dataset_postprocessors: vec![Postprocessor::Gsm8kDataset],
        ..EvalSpec::new(EvaluatorSpec::Gsm8k)
    };
    let infer = InferSpec::Gen(GenSpec { max_out_len: Some(512), ..GenSpec::default() });
    let dataset = dataset(infer, spec.clone(), records.len());
    let details = results["details"].as_array().unwrap();
    assert_eq!((details.len(), records.len()), (40, 40));
    let (mut accumulator, mut ours) = (Accumulator::new(&spec), Vec::new());
    for (index, (record, detail)) in records.values().zip(details).enumerate() {
        let index = index as u32;
        let prompt = Prompt::question(text(&record["origin_prompt"]));
        let sample = Sample { index, gold: record["gold"].clone(), shots: Vec::new(), body: Body::Gen { prompt } };
        let result = generated(index, text(&record["prediction"]));
        let score = judge(&sample, &result, &spec).unwrap();
        let line = json!({
            "example_abbr": format!("gsm8k_test_{index}"),
            "pred": [score.processed], "answer": score.answers, "correct": score.correct,
        });
        assert_eq!(&line, detail);
        accumulator.observe(&sample, &result);
        let part = Part { shots: Vec::new(), samples: vec![sample.clone()] };
        ours.push((index, prediction_record(&dataset, None, &part, &sample, &result, None)));
    }
    assert_eq!(json!(accumulator.finish().values[0].value), results["accuracy"]);
    let mut out = Vec::new();
    write_records::<_, std::io::Error>(&mut out, ours.into_iter().map(Ok)).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), bytes);
}

/// Evaluates the golden outputs of a configuration; predictions, references, scores of samples and metrics come out as written.
fn check(config: &str, name: &str, spec: &EvalSpec) {
    let Some(records) = golden_json(&format!("opencompass/{config}/predictions/{name}.json")) else { return };
    let results = golden_json(&format!("opencompass/{config}/results/{name}.json")).unwrap();
    let mut accumulator = Accumulator::new(spec);
    for (index, record) in records.values().enumerate() {
        let body = Body::Gen { prompt: Prompt::question(text(&record["origin_prompt"])) };
        let sample = Sample { index: index as u32, gold: record["gold"].clone(), shots: Vec::new(), body };
        let result = generated(index as u32, text(&record["prediction"]));
        let score = judge(&sample, &result, spec).unwrap();
        let at = format!("{config} {name} {index}");
        match &results["details"] {
            Value::Array(details) => {
                let correct = details[index].get("correct").or_else(|| details[index].get("is_correct")).unwrap();
                assert_eq!(json!(score.correct), *correct, "{at}");
            }
            details => {
                let detail = &details[&index.to_string()];
                assert_eq!(score.processed, detail["predictions"], "{at}");
                assert_eq!(json!(score.answers[0]), detail["references"], "{at}");
            }
        }
        accumulator.observe(&sample, &result);
    }
    let metrics = accumulator.finish();
    assert_eq!(metrics.counts.scored, records.len() as u64);
    let figures = results.iter().filter(|(key, _)| *key != "details");
    let ours = metrics.values.iter().map(|metric| (metric.name.clone(), json!(metric.value)));
    let theirs: Map<String, Value> = figures.map(|(key, value)| (key.clone(), value.clone())).collect();
    assert_eq!(ours.collect::<Map<_, _>>(), theirs, "{config} {name}");
}

fn postprocessor(name: &str, parameters: Value) -> Postprocessor {
    Postprocessor::named(name, parameters.as_object().unwrap()).unwrap()
}

#[test]
fn options_in_an_output() {
    let mut spec = EvalSpec::new(EvaluatorSpec::Acc);
    spec.pred_postprocessors = vec![postprocessor("first_option_postprocess", json!({"options": "ABCD"}))];
    check("ARC_e_gen_1e0de5", "ARC-e", &spec);
    spec.evaluator = EvaluatorSpec::AccWithDetails;
    check("mmlu_gen_4d595a", "lukaemon_mmlu_marketing", &spec);
    spec.evaluator = EvaluatorSpec::Acc;
    spec.pred_postprocessors = vec![postprocessor("first_option_postprocess", json!({"options": "AB"}))];
    check("piqa_gen_1194eb", "piqa", &spec);
}

#[test]
fn capitals_in_an_output() {
    let mut spec = EvalSpec::new(EvaluatorSpec::Acc);
    spec.pred_postprocessors = vec![Postprocessor::FirstCapital];
    for name in ["gaokao-history", "lsat-ar", "sat-math"] {
        check("agieval_gen_a0c741", &format!("agieval-{name}"), &spec);
    }
}

#[test]
fn mathematics_in_words() {
    let mut spec = EvalSpec::new(EvaluatorSpec::Gsm8k);
    spec.pred_postprocessors = vec![Postprocessor::Gsm8k];
    spec.dataset_postprocessors = vec![Postprocessor::Gsm8kDataset];
    check("gsm8k_gen_1d7fe4", "gsm8k", &spec);
    for language in ["de", "zh"] {
        let mut spec = EvalSpec::new(EvaluatorSpec::Check { check: TextCheck::Mgsm });
        spec.pred_postprocessors = vec![postprocessor("mgsm_postprocess", json!({"lang": language}))];
        check("mgsm_gen_d967bc", &format!("mgsm_{language}"), &spec);
    }
}

#[test]
fn chains_of_thought() {
    let spec = EvalSpec::new(EvaluatorSpec::Check { check: TextCheck::Bbh });
    for name in ["object_counting", "boolean_expressions", "causal_judgement"] {
        let name = format!("bbh-{name}");
        check("bbh_gen_5b92b0", &name, &spec);
    }
}

#[test]
fn points_of_a_key() {
    let spec = EvalSpec::new(EvaluatorSpec::Gaokao { question: GaokaoQuestion::SingleChoice });
    for name in ["2010-2022_Math_I_MCQs", "2010-2022_History_MCQs", "2010-2013_English_MCQs"] {
        check("GaokaoBench_no_subjective_gen_4c31db", &format!("GaokaoBench_{name}"), &spec);
    }
}
