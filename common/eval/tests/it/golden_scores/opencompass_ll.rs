//! OpenCompass's `ll` configuration: records and accuracy.

use crate::golden_scores::golden::{dataset, read_json as golden_json, result, text};
use compass_eval::evaluator::Accumulator;
use compass_eval::report::prediction_record;
use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::prompt::Prompt;
use compass_plan::{Body, EvalSpec, InferSpec, OptionText, Part, Sample};
use compass_types::result::{LoglikelihoodScore, Outcome};
use serde_json::json;

#[test]
fn loglikelihood_records() {
    // OpenCompass's averages stand in for sums here; what is compared are keys, their order and the prediction.
    let Some(records) = golden_json("opencompass/winogrande_ll_c5cf57/predictions/winogrande.json") else { return };
    let results = golden_json("opencompass/winogrande_ll_c5cf57/results/winogrande.json").unwrap();
    let dataset = dataset(InferSpec::Loglikelihood, EvalSpec::new(EvaluatorSpec::Acc), records.len());
    let mut accumulator = Accumulator::new(&EvalSpec::new(EvaluatorSpec::Acc));
    for (index, record) in records.values().enumerate() {
        let index = index as u32;
        let (mut options, mut scores) = (Vec::new(), Vec::new());
        for label in [1, 2] {
            let entry = &record[&format!("label: {label}")];
            let continuation = text(&entry["prompt"]).to_string();
            options.push(OptionText {
                context: None,
                delimiter: 0,
                unconditional: false,
                label: json!(label),
                length: continuation.chars().count() as u32,
                continuation,
            });
            let sum = entry["Loglikelihood"].as_f64().unwrap();
            scores.push(LoglikelihoodScore { sum, tokens: 1, is_greedy: false });
        }
        let body = Body::Loglikelihood { context: Prompt::question(""), options };
        let sample = Sample { index, gold: record["gold"].clone(), shots: Vec::new(), body };
        let result = result(index, Outcome::Loglikelihood(scores));
        accumulator.observe(&sample, &result);
        let part = Part { shots: Vec::new(), samples: vec![sample.clone()] };
        let mut ours = prediction_record(&dataset, None, &part, &sample, &result, None);
        for label in ["label: 1", "label: 2"] {
            let entry = ours[label].as_object_mut().unwrap();
            assert_eq!(
                (entry.shift_remove("is_greedy"), entry.shift_remove("tokens")),
                (Some(json!(false)), Some(json!(1)))
            );
        }
        assert_eq!(ours.to_string(), record.to_string());
    }
    assert_eq!(json!(accumulator.finish().values[0].value), results["accuracy"]);
}
