//! OpenCompass's `ppl` configurations: predictions, records and accuracy.

use crate::golden_scores::golden::{dataset, read, read_json as golden_json, result, text};
use compass_eval::evaluator::{Accumulator, judge};
use compass_eval::report::{Details, Findings, prediction_record, results_document, write_records};
use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::prompt::{Prompt, Segment};
use compass_plan::{Body, EvalSpec, InferSpec, OptionPrompt, Part, Sample};
use compass_postprocess::Postprocessor;
use compass_types::result::{Outcome, PplScore};
use serde_json::json;

/// Feeds the golden prompts and scores of a `ppl` config; predictions, records, bytes and accuracy come out as written.
fn check_ppl(config: &str, name: &str, spec: &EvalSpec) {
    let Some(records) = golden_json(&format!("opencompass/{config}/predictions/{name}.json")) else { return };
    let bytes = read(&format!("opencompass/{config}/predictions/{name}.json")).unwrap();
    let results = golden_json(&format!("opencompass/{config}/results/{name}.json")).unwrap();
    let dataset = dataset(InferSpec::Ppl, spec.clone(), records.len());
    let (mut accumulator, mut findings, mut ours) = (Accumulator::new(spec), Findings::default(), Vec::new());
    for (index, record) in records.values().enumerate() {
        let index = index as u32;
        let shots = text(&record["in-context examples"]);
        let (mut options, mut scores) = (Vec::new(), Vec::new());
        for (key, entry) in record.as_object().unwrap() {
            let Some(label) = key.strip_prefix("label: ") else { continue };
            let prompt = text(&entry["prompt"]);
            let segments = match prompt.split_once(shots).filter(|_| !shots.is_empty()) {
                Some((header, question)) => {
                    vec![Segment::Header(header.into()), Segment::Shots, Segment::Question(question.into())]
                }
                None => vec![Segment::Question(prompt.into())],
            };
            // Labels are written as text; the type of the prediction tells what they were.
            let label = if record["prediction"].is_i64() { json!(label.parse::<i64>().unwrap()) } else { json!(label) };
            options.push(OptionPrompt { label, prompt: Prompt(segments), answer: None });
            // PPL and BPB give the number of tokens, and so the sum.
            let (ppl, bpb) = (entry["PPL"].as_f64().unwrap(), entry["BPB"].as_f64().unwrap());
            let tokens = (bpb * text(&entry["testing input"]).len() as f64 / ppl).round();
            scores.push(PplScore { nll_sum: ppl * tokens, tokens: tokens as u32, normalizer: None });
        }
        let with_shots = !shots.is_empty();
        let sample = Sample {
            index,
            gold: record["gold"].clone(),
            shots: if with_shots { vec![0] } else { Vec::new() },
            body: Body::Ppl { options },
        };
        let part = Part { shots: vec![shots.into()], samples: vec![sample.clone()] };
        let result = result(index, Outcome::Ppl(scores));
        assert_eq!(judge(&sample, &result, spec).unwrap().prediction, record["prediction"], "{config} {index}");
        accumulator.observe(&sample, &result);
        findings.observe(&sample, &result, spec, None);
        ours.push((index, prediction_record(&dataset, None, &part, &sample, &result, None)));
    }
    let metrics = accumulator.finish();
    assert_eq!(json!(metrics.values[0].value), results["accuracy"], "{config}");
    assert_eq!(metrics.values.len(), 1);
    let document = results_document(&dataset, &metrics, &findings, Details::Include);
    let document = serde_json::to_value(document).unwrap();
    assert_eq!(document.as_object().unwrap().iter().next(), results.iter().next());
    assert_eq!(metrics.counts.ties, 0);

    if config.starts_with("hellaswag_10shot") {
        // The shots stand in the prompt as rounds, and beside it as text; the tests of prompts compare those.
        return;
    }
    let mut out = Vec::new();
    write_records::<_, std::io::Error>(&mut out, ours.into_iter().map(Ok)).unwrap();
    let out = String::from_utf8(out).unwrap();
    let (theirs, ours): (Vec<_>, Vec<_>) = (bytes.lines().collect(), out.lines().collect());
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let number = |line: &str| {
            let (key, value) = line.trim().trim_end_matches(',').split_once("\": ")?;
            Some(value.parse::<f64>().ok()?).filter(|_| key == "\"PPL" || key == "\"BPB")
        };
        match (number(ours), number(theirs)) {
            // The sum was recovered by a multiplication, so the last bit may differ.
            (Some(ours), Some(theirs)) => assert!((ours - theirs).abs() <= 4.0 * f64::EPSILON * theirs.abs()),
            _ => assert_eq!(ours, theirs),
        }
    }
}

#[test]
fn without_shots() {
    let acc = EvalSpec::new(EvaluatorSpec::Acc);
    check_ppl("piqa_ppl_1cf9f0", "piqa", &acc);
    check_ppl("hellaswag_ppl_47bff9", "hellaswag", &acc);
    check_ppl("winogrande_ppl_55a66e", "winogrande", &acc);
    check_ppl("ARC_e_ppl_a450bd", "ARC-e", &acc);
    check_ppl("SuperGLUE_BoolQ_ppl_16b1d9", "BoolQ", &acc);
}

#[test]
fn with_shots() {
    let mut spec = EvalSpec::new(EvaluatorSpec::AccWithDetails);
    check_ppl("mmlu_ppl_ac766d", "lukaemon_mmlu_virology", &spec);
    check_ppl("mmlu_ppl_ac766d", "lukaemon_mmlu_college_biology", &spec);
    spec.pred_postprocessors = vec![Postprocessor::FirstCapital];
    check_ppl("hellaswag_10shot_ppl_59c85e", "hellaswag", &spec);
}
