//! Evaluators against OpenCompass's own, on outputs of the script that wrote the goldens: every figure it prints.

use compass_eval::evaluator::Accumulator;
use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::prompt::Prompt;
use compass_plan::{Body, EvalSpec, Sample};
use compass_types::result::{Finish, Generation, Outcome, PplScore, PromptFit, SampleResult};
use serde_json::Value;

fn cases() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens/evaluator/cases.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The question and the answers of one sample, as the case says they are to be read.
fn sample(index: u32, reading: &str, sample: &Value) -> (Sample, SampleResult) {
    let prompt = Prompt::question("question");
    let answers = sample["answers"].as_array().unwrap();
    let (body, outcome) = match reading {
        "text" => {
            let text = |answer: &Value| Generation::new(answer.as_str().unwrap(), 1, Finish::Eos);
            (Body::Gen { prompt }, Outcome::Generated(answers.iter().map(text).collect()))
        }
        "mean" => {
            let score = PplScore { nll_sum: answers[0].as_f64().unwrap(), tokens: 1, normalizer: None };
            (Body::Gen { prompt }, Outcome::Ppl(vec![score]))
        }
        "choices" => {
            let probabilities = answers[0].as_array().unwrap();
            let scores = probabilities.iter().map(|probability| probability.as_f64().unwrap().ln()).collect();
            (Body::Clp { prompt, choices: vec!["no".into(), "yes".into()] }, Outcome::Clp(scores))
        }
        other => panic!("{other}"),
    };
    let result = SampleResult { index, fit: PromptFit { tokens: 1, ..PromptFit::default() }, outcome };
    (Sample { index, gold: sample["gold"].clone(), shots: Vec::new(), body }, result)
}

fn spec(case: &Value) -> EvalSpec {
    let evaluator: EvaluatorSpec = serde_json::from_value(case["evaluator"].clone()).unwrap();
    EvalSpec { k: serde_json::from_value(case["k"].clone()).unwrap(), ..EvalSpec::new(evaluator) }
}

#[test]
fn every_figure() {
    let cases = cases();
    assert!(cases.len() > 100);
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        let (reading, spec) = (case["reading"].as_str().unwrap(), spec(case));
        let samples = case["samples"].as_array().unwrap();
        // Two halves, merged: the figures are those of the whole.
        let mut halves = [Accumulator::new(&spec), Accumulator::new(&spec)];
        for (index, drawn) in samples.iter().enumerate() {
            let (sample, result) = sample(index as u32, reading, drawn);
            halves[index % 2].observe(&sample, &result);
        }
        let [mut whole, odd] = halves;
        whole.merge(&odd).unwrap();
        let metrics = whole.finish();
        assert_eq!(metrics.counts.scored, samples.len() as u64, "{name}");
        for (key, expected) in case["results"].as_object().unwrap() {
            let expected = expected.as_f64().unwrap();
            let ours = metrics.get(key).unwrap_or_else(|| panic!("{name}: no {key} in {metrics:?}")).value;
            // SciPy's hypergeometric tail and softmax of logarithms are not rounded as ours.
            let rounded = key.starts_with("G-Pass") || key.starts_with("mG-Pass") || key == "matthews_correlation";
            let tolerance = if rounded || reading == "choices" { 1e-11 } else { 0.0 };
            assert!((ours - expected).abs() <= tolerance, "{name} {key}: {ours} {expected}");
        }
    }
}

#[test]
fn every_right_or_wrong_figure_has_an_interval() {
    for case in cases().iter().filter(|case| case["n"] == 1) {
        let spec = spec(case);
        let mut accumulator = Accumulator::new(&spec);
        for (index, drawn) in case["samples"].as_array().unwrap().iter().enumerate() {
            let (sample, result) = sample(index as u32, case["reading"].as_str().unwrap(), drawn);
            accumulator.observe(&sample, &result);
        }
        for metric in accumulator.finish().values.iter().filter(|metric| !metric.name.starts_with("prior_")) {
            let several = case["samples"].as_array().unwrap().len() > 7;
            assert!(metric.ci95.is_some() || !several, "{} {metric:?}", case["name"]);
            let inside = metric.ci95.is_none_or(|(low, high)| low <= metric.value && metric.value <= high);
            assert!(inside, "{} {metric:?}", case["name"]);
        }
    }
}

/// Rows of BBQ's data to the figures of its table, which are made where those of the metrics are.
#[test]
fn bbq_tables() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../metrics/tests/goldens/metric/bbq_tables.json");
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(cases.len() >= 5, "only {} cases", cases.len());
    for case in cases {
        let (rows, responses) = (case["in"][0].as_array().unwrap(), case["in"][1].as_array().unwrap());
        let mut accumulator = Accumulator::new(&EvalSpec::new(EvaluatorSpec::Bbq));
        for ((index, row), response) in (0..).zip(rows).zip(responses) {
            let text = response.as_str().unwrap();
            let answer = Generation::new(text, 1, Finish::Eos);
            let fit = PromptFit { tokens: 1, ..PromptFit::default() };
            let result = SampleResult { index, fit, outcome: Outcome::Generated(vec![answer]) };
            let body = Body::Gen { prompt: Prompt::question("question") };
            accumulator.observe(&Sample { index, gold: row.clone(), shots: Vec::new(), body }, &result);
        }
        let metrics = accumulator.finish();
        assert_eq!(metrics.counts.failed, 0);
        for (name, expected) in case["out"].as_object().unwrap() {
            let found = metrics.get(name).map_or(f64::NAN, |metric| metric.value);
            let expected = expected.as_f64().unwrap_or(f64::NAN);
            let is_close = (found - expected).abs() <= 1e-12 * expected.abs().max(1.0);
            assert!(is_close || (found.is_nan() && expected.is_nan()), "{name}: {found} instead of {expected}");
        }
    }
}

/// One asking of each row, as the plan has it, and what the model said.
fn circular(at: usize, case: &Value) -> (Sample, SampleResult) {
    let asked = &case["asked"][at];
    let gold = serde_json::json!({
        "answer": asked[2], "qid": asked[0], "circular_pattern": asked[1], "first_pattern": case["asked"][0][1],
    });
    let drawn = serde_json::json!({ "gold": gold, "answers": [case["answers"][at]] });
    sample(at as u32, "text", &drawn)
}

#[test]
fn every_figure_of_circular_eval_in_its_order() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens/evaluator/circular.json");
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for case in &cases {
        let evaluator = serde_json::json!({ "type": "circular_eval", "pattern": case["pattern"] });
        let spec = EvalSpec::new(serde_json::from_value(evaluator).unwrap());
        let mut halves = [Accumulator::new(&spec), Accumulator::new(&spec)];
        for at in 0..case["answers"].as_array().unwrap().len() {
            let (sample, result) = circular(at, case);
            halves[at % 2].observe(&sample, &result);
        }
        let [mut whole, odd] = halves;
        whole.merge(&odd).unwrap();
        let metrics = whole.finish();
        let ours: Vec<Value> =
            metrics.values.iter().map(|metric| serde_json::json!([metric.name, metric.value])).collect();
        assert_eq!(&Value::from(ours), &case["metrics"], "{}", case["pattern"]);
        assert!(metrics.values.iter().all(|metric| metric.ci95.is_some()), "{metrics:?}");
    }
}
