//! lm-eval's logged samples: the score of each, the aggregates and their standard errors.

use crate::golden_scores::golden::{generated, read, read_json, result, text};
use compass_eval::evaluator::{Accumulator, SampleValue, judge};
use compass_plan::evaluation::{ChoiceMetric, EvaluatorSpec, ExactMatchSpec, FilterPipeline};
use compass_plan::prompt::Prompt;
use compass_plan::{Body, EvalSpec, OptionText, Sample};
use compass_postprocess::Filter;
use compass_types::result::{LoglikelihoodScore, Outcome, RollingScore, SampleResult};
use serde_json::{Value, json};

/// A logged sample of scored options, answered as logged. The gold answer is the position of an option.
fn options(index: u32, logged: &Value) -> (Sample, SampleResult) {
    let (mut options, mut scores) = (Vec::new(), Vec::new());
    for (at, response) in logged["filtered_resps"].as_array().unwrap().iter().enumerate() {
        let continuation = text(&logged["arguments"][format!("gen_args_{at}")]["arg_1"]).to_string();
        let length = continuation.strip_prefix(' ').unwrap().chars().count() as u32;
        options.push(OptionText {
            label: json!(at),
            continuation,
            context: None,
            delimiter: 0,
            length,
            unconditional: false,
        });
        let sum = text(&response[0]).parse().unwrap();
        scores.push(LoglikelihoodScore { sum, tokens: 1, is_greedy: text(&response[1]) == "True" });
    }
    // The gold answer is a position, logged as text where a template made it.
    let gold = text(&logged["target"]).parse::<u64>().map_or(Value::Null, Value::from);
    let body = Body::Loglikelihood { context: Prompt::question("context"), options };
    (Sample { index, gold, shots: Vec::new(), body }, result(index, Outcome::Loglikelihood(scores)))
}

fn whole_text(index: u32, logged: &Value) -> (Sample, SampleResult) {
    let page = text(&logged["target"]);
    // The divisors are logged beside the sum.
    let divisor = |metric: &str| logged[metric][1].as_u64().unwrap() as u32;
    let body = Body::Rolling {
        text: Prompt::question(page),
        words: divisor("word_perplexity"),
        bytes: divisor("byte_perplexity"),
    };
    let sum = text(&logged["filtered_resps"][0]).parse().unwrap();
    let score = RollingScore { sum, tokens: 1 };
    (Sample { index, gold: Value::Null, shots: Vec::new(), body }, result(index, Outcome::Rolling(score)))
}

/// Evaluates the logged samples of a task as `spec` says. Each logged metric of each sample, and each aggregate with its
/// standard error, is lm-eval's: metrics by lm-eval's name, in percent where `percent` is 100.
fn check(task: &str, spec: &EvalSpec, read_sample: fn(u32, &Value) -> (Sample, SampleResult), metrics: &[(&str, f64)]) {
    let Some(samples) = read(&format!("lm-eval/samples_{task}.jsonl")) else { return };
    let aggregates = &read_json("lm-eval/results.json").unwrap()["results"][task];
    let mut accumulator = Accumulator::new(spec);
    for (index, line) in samples.lines().enumerate() {
        let logged: Value = serde_json::from_str(line).unwrap();
        let (sample, result) = read_sample(index as u32, &logged);
        let score = judge(&sample, &result, spec).unwrap();
        assert_eq!(score.contributions.len(), metrics.len());
        for (contribution, (name, _)) in score.contributions.iter().zip(metrics) {
            let (base, _) = name.split_once(',').unwrap();
            let logged = &logged[base];
            let same = match &contribution.item {
                SampleValue::Hit(hit) => logged.as_f64() == Some(f64::from(u8::from(*hit))),
                SampleValue::Score(score) => logged.as_f64() == Some(*score),
                SampleValue::Weighted(sum, weight) => *logged == json!([sum, weight]),
                other => panic!("{other:?}"),
            };
            assert!(same, "{task} {index} {name}: {:?} is not {logged}", contribution.item);
        }
        accumulator.observe(&sample, &result);
    }
    let ours = accumulator.finish();
    assert_eq!(json!(ours.counts.scored), aggregates["sample_len"]);
    assert_eq!(ours.values.len(), metrics.len());
    for (metric, (name, percent)) in ours.values.iter().zip(metrics) {
        let (base, filter) = name.split_once(',').unwrap();
        let close = |ours: f64, key: String| {
            let Some(theirs) = aggregates[&key].as_f64() else { return assert_eq!(aggregates[&key], "N/A", "{key}") };
            let difference = (ours / percent - theirs).abs();
            assert!(difference <= 1e-14 * theirs.abs().max(1.0), "{task} {key}: {ours} {theirs}");
        };
        close(metric.value, format!("{base},{filter}"));
        close(metric.stderr.unwrap(), format!("{base}_stderr,{filter}"));
        assert!(metric.ci95.is_some_and(|(low, high)| low <= metric.value && metric.value <= high));
    }
}

fn choice(metrics: &[ChoiceMetric]) -> EvalSpec {
    EvalSpec::new(EvaluatorSpec::MultipleChoice { metrics: metrics.to_vec() })
}

#[test]
fn multiple_choice() {
    let both = [("acc,none", 100.0), ("acc_norm,none", 100.0)];
    for task in ["g_piqa", "g_arc_easy", "g_hellaswag5"] {
        check(task, &choice(&[ChoiceMetric::Acc, ChoiceMetric::AccNorm]), options, &both);
        // The evaluator that users of OpenCompass name gives equal numbers.
        check(task, &EvalSpec::new(EvaluatorSpec::Acc), options, &both);
    }
    for task in ["g_mmlu_virology", "g_mmlu_marketing"] {
        check(task, &choice(&[ChoiceMetric::Acc]), options, &both[..1]);
    }
    let bytes = [("acc,none", 100.0), ("acc_bytes,none", 100.0)];
    check("g_winogrande", &choice(&[ChoiceMetric::Acc, ChoiceMetric::AccBytes]), options, &bytes);
}

fn generated_text(index: u32, logged: &Value) -> (Sample, SampleResult) {
    let body = Body::Gen { prompt: Prompt::question("context") };
    let sample = Sample { index, gold: logged["target"].clone(), shots: Vec::new(), body };
    (sample, generated(index, text(&logged["resps"][0][0])))
}

#[test]
fn filtered_text() {
    let mut spec = EvalSpec::new(EvaluatorSpec::ExactMatch(ExactMatchSpec::default()));
    let parameters = json!({"regex_pattern": r"#### (\-?[0-9\.\,]+)"});
    let regex = Filter::named("regex", parameters.as_object().unwrap()).unwrap();
    spec.filters = vec![FilterPipeline { name: "strict".into(), steps: vec![regex, Filter::TakeFirst] }];
    check("g_gsm8k", &spec, generated_text, &[("exact_match,strict", 100.0)]);
}

#[test]
fn perplexities() {
    let spec = EvalSpec::new(EvaluatorSpec::Perplexity);
    check("g_lambada", &spec, options, &[("perplexity,none", 1.0), ("acc,none", 100.0)]);
    let whole = [("word_perplexity,none", 1.0), ("byte_perplexity,none", 1.0), ("bits_per_byte,none", 1.0)];
    check("g_wikitext", &spec, whole_text, &whole);
}
