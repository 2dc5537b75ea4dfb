//! The document `results/<model>/<dataset>.json`.

use super::findings::SampleLines;
use super::{Details, Findings};
use crate::evaluator::{AtK, ByK, Metric, Metrics};
use compass_plan::DatasetPlan;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

/// A results document, to be serialised.
#[derive(Clone, Debug)]
pub struct ResultsDocument<'f> {
    /// All but the lines of samples.
    pub summary: Map<String, Value>,
    details: Option<SampleLines<'f>>,
}

impl Serialize for ResultsDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.summary {
            map.serialize_entry(key, value)?;
        }
        if let Some(details) = &self.details {
            map.serialize_entry("details", details)?;
        }
        map.end()
    }
}

/// The results of one model on a data set: metric to number first, as in OpenCompass, so that its tools read it; then
/// expected, scored, failed, ties; stderr and ci95 by metric; and what [`Findings`] found.
///
/// - `failed`: samples without a score; `unscored` where a metric is called `failed`.
/// - `missing`: samples without any result, only when there are some.
/// - `coverage`: the contribution of the expected samples that the metrics stand on, in percent, only when that is not all.
/// - `withheld`: why there is no metric, only when there is none.
/// - `by_k` and `draws`: rates of k answers, only where there are several to each question.
/// - `stderr` in the metric's unit, `ci95` as the lower and the upper bound of its 95 % interval.
pub fn results_document<'f>(
    dataset: &DatasetPlan,
    metrics: &Metrics,
    findings: &'f Findings,
    details: Details,
) -> ResultsDocument<'f> {
    let mut document: Map<String, Value> =
        metrics.values.iter().map(|metric| (metric.name.clone(), json!(metric.value))).collect();
    let (expected, counts) = (u64::from(dataset.samples), metrics.counts);
    if let Some(reason) = metrics.withheld(expected) {
        document.insert("withheld".into(), reason.into());
    }
    document.insert("expected".into(), expected.into());
    document.insert("scored".into(), counts.scored.into());
    // MBPP's evaluator counts programs that failed under this name.
    let failed = if metrics.get("failed").is_some() { "unscored" } else { "failed" };
    document.insert(failed.into(), counts.failed.into());
    let missing = counts.missing(expected);
    if missing > 0 {
        document.insert("missing".into(), missing.into());
    }
    if counts.scored < expected {
        document.insert("coverage".into(), (counts.scored as f64 / expected as f64 * 100.0).into());
    }
    document.insert("ties".into(), counts.ties.into());
    by_metric(&mut document, "stderr", metrics, |metric| metric.stderr.map(|error| json!(error)));
    by_metric(&mut document, "ci95", metrics, |metric| metric.ci95.map(|(low, high)| json!([low, high])));
    if let Some(by_k) = &metrics.by_k {
        document.insert("by_k".into(), by_k.rates.iter().map(at_k).collect::<Map<_, _>>().into());
        document.insert("draws".into(), draws(by_k));
    }
    findings.append(&mut document);
    let details = findings.details(dataset.infer.mode()).filter(|_| details == Details::Include);
    ResultsDocument { summary: document, details }
}

/// The rates of k answers by name (`pass`, `maj` where answers vote, `all`), with `stderr` and `ci95` over questions by the same
/// names.
fn at_k(at: &AtK) -> (String, Value) {
    let rates = [("pass", Some(&at.pass)), ("maj", at.maj.as_ref()), ("all", Some(&at.all))];
    let rates = || rates.into_iter().filter_map(|(name, metric)| Some((name.to_owned(), metric?)));
    let mut document: Map<String, Value> = rates().map(|(name, metric)| (name, json!(metric.value))).collect();
    let errors: Map<String, Value> = rates().map(|(name, metric)| (name, json!(metric.stderr))).collect();
    document.insert("stderr".into(), errors.into());
    let intervals = rates().map(|(name, metric)| (name, json!(metric.ci95.map(|(low, high)| [low, high]))));
    document.insert("ci95".into(), intervals.collect::<Map<_, _>>().into());
    (at.k.to_string(), document.into())
}

/// Drawn answers: `questions`, `answers` to each (the fewest and the most where they differ), `unsettled` questions, and the
/// standard error `stderr` of pass@1 that draws alone make.
fn draws(by_k: &ByK) -> Value {
    let (fewest, most) = by_k.answers;
    let answers = if fewest == most { json!(fewest) } else { json!([fewest, most]) };
    json!({
        "questions": by_k.questions,
        "answers": answers,
        "unsettled": by_k.unsettled,
        "stderr": by_k.draws_stderr,
    })
}

fn by_metric(document: &mut Map<String, Value>, key: &str, metrics: &Metrics, of: impl Fn(&Metric) -> Option<Value>) {
    let known = metrics.values.iter().filter_map(|metric| Some((metric.name.clone(), of(metric)?)));
    let known: Map<String, Value> = known.collect();
    if !known.is_empty() {
        document.insert(key.into(), known.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::Accumulator;
    use crate::evaluator::fixture::*;
    use crate::report::prediction_record;
    use compass_plan::{GenSpec, InferSpec, Part, Sample};
    use compass_types::result::{Finish, Generation, Outcome, SampleResult};

    fn document(infer: InferSpec, expected: u32, pairs: &[(Sample, SampleResult)]) -> String {
        let dataset = dataset("d", infer, expected);
        let mut accumulator = Accumulator::new(&dataset.eval);
        let mut findings = Findings::default();
        // the order of observation leaves no trace
        for (sample, result) in pairs.iter().rev() {
            accumulator.observe(sample, result);
            findings.observe(sample, result, &dataset.eval, None);
        }
        let mut out = Vec::new();
        super::super::pretty(&mut out, &results_document(&dataset, &accumulator.finish(), &findings, Details::Include))
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn everything_at_once() {
        let mut cut = loglikelihood_result(1, &[-1.0, -1.0]);
        cut.fit.truncated_from = 900;
        let mut short = loglikelihood(2, json!(1), &["a", "bc"]);
        short.shots = vec![0];
        let pairs = [
            (loglikelihood(0, json!(0), &["a", "bc"]), loglikelihood_result(0, &[-1.0, -1.5])),
            (loglikelihood(1, json!(0), &["a", "bc"]), cut),
            (short, loglikelihood_result(2, &[-2.0, -1.0])),
            (loglikelihood(10, json!(0), &["a", "bc"]), failed(10, "poison")),
            (loglikelihood(9, json!(0), &["a", "bc"]), loglikelihood_result(9, &[f64::NAN, f64::NAN])),
        ];
        let text = document(InferSpec::Loglikelihood, 12, &pairs);
        let expected = concat!(
            r#"{ "accuracy": 100.0, "acc_norm": 33.33333333333333, "expected": 12, "scored": 3, "failed": 2, "#,
            r#""missing": 7, "coverage": 25.0, "ties": 1, "stderr": { "accuracy": 0.0, "acc_norm": 33.333333333333336 }, "#,
            r#""ci95": { "accuracy": [ 43.85029682449545, 100.0 ], "acc_norm": [ 6.149194472039625, 79.23403991979522 ] }, "#,
            r#""too_long": [ 1 ], "fewer_shots": [ 2 ], "#,
            r#""failed_samples": { "9": "no option has a finite score", "10": "poison" }, "#,
            r#""details": { "type": "LL", "#,
            r#""0": { "predictions": "0", "references": "0", "correct": true, "correct_norm": false }, "#,
            r#""1": { "predictions": "0", "references": "0", "correct": true, "correct_norm": false }, "#,
            r#""2": { "predictions": "1", "references": "1", "correct": true, "correct_norm": true } } }"#
        );
        assert_eq!(one_line(&text), expected);
    }

    #[test]
    fn several_answers_have_rates_by_k() {
        let several = |index, texts: &[&str]| {
            let answers = texts.iter().map(|text| Generation::new(*text, 1, Finish::Stop)).collect();
            (generate(index, json!("A")), result(index, Outcome::Generated(answers)))
        };
        // Two classes tie; nothing but the right class votes; all are right.
        let pairs =
            [several(0, &["A", "A", "B", "B"]), several(1, &["A", "", "", ""]), several(2, &["A", "A", "A", "A"])];
        let text = document(InferSpec::Gen(GenSpec::default()), 3, &pairs);
        let document: Value = serde_json::from_str(&text).unwrap();
        let at = |k: &str| ["pass", "maj", "all"].map(|rate| document["by_k"][k][rate].as_f64().unwrap());
        let close = |found: [f64; 3], expected: [f64; 3]| {
            assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9), "{found:?}");
        };
        let shares = |[pass, maj, all]: [f64; 3]| [pass, maj, all].map(|sum| 100.0 * sum / 3.0);
        close(at("1"), shares([1.75, 1.75, 1.75]));
        close(at("2"), shares([5.0 / 6.0 + 0.5 + 1.0, 0.5 + 0.5 + 1.0, 1.0 / 6.0 + 1.0]));
        close(at("4"), shares([3.0, 2.5, 1.0]));
        assert_eq!(document["by_k"]["1"]["pass"], document["pass@1"]);
        assert_eq!(document["by_k"]["1"]["stderr"]["pass"], document["stderr"]["pass@1"]);
        let draws = &document["draws"];
        assert_eq!((&draws["questions"], &draws["answers"], &draws["unsettled"]), (&json!(3), &json!(4), &json!(2)));
        let alone = 100.0 * ((0.25 + 0.1875) / 27.0_f64).sqrt();
        assert!((draws["stderr"].as_f64().unwrap() - alone).abs() < 1e-9);
        assert_eq!(document["by_k"].as_object().unwrap().keys().collect::<Vec<_>>(), ["1", "2", "4"]);
    }

    #[test]
    fn details_say_what_was_asked_and_answered() {
        let origin = |infer: InferSpec, sample: &Sample, result: &SampleResult| {
            let dataset = dataset("d", infer, 1);
            let part = Part { shots: vec!["S0".into()], samples: vec![sample.clone()] };
            let record = prediction_record(&dataset, None, &part, sample, result, None);
            let mut findings = Findings::default();
            findings.observe(sample, result, &dataset.eval, Some(&record));
            let details = findings.details(dataset.infer.mode()).unwrap();
            serde_json::to_value(details).unwrap()["0"].to_string()
        };
        // The keys of OpenCompass's `format_details`, in its order.
        assert_eq!(
            origin(InferSpec::Gen(GenSpec::default()), &generate(0, json!("42")), &generated(0, " 42")),
            concat!(
                r#"{"prompt":"H: \nQ: go on","origin_prediction":" 42","predictions":" 42","references":"42","#,
                r#""correct":false}"#
            )
        );
        let sample = ppl(0, json!("B"), &[json!("A"), json!("B")]);
        assert_eq!(
            origin(InferSpec::Ppl, &sample, &ppl_result(0, &[(9.0, 3), (8.0, 4)])),
            concat!(
                r#"{"origin_prediction":{"origin_prompt":"H: Q: answer é \"A\"","gold":"B","#,
                r#""A":{"prompt":"H: \nQ: answer é \"A\"","PPL":3.0,"BPB":0.47368421052631576},"#,
                r#""B":{"prompt":"H: \nQ: answer é \"B\"","PPL":2.0,"BPB":0.42105263157894735}},"#,
                r#""predictions":"B","references":"B","correct":true}"#
            )
        );
    }

    fn one_line(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_withheld_metric_has_a_reason() {
        let pairs = [(generate(0, json!("A")), failed(0, "poison"))];
        let infer = InferSpec::Gen(GenSpec::default());
        let expected = concat!(
            r#"{ "withheld": "no sample was scored: 1 of 1 failed", "expected": 1, "scored": 0, "failed": 1, "#,
            r#""coverage": 0.0, "ties": 0, "#,
            r#""failed_samples": { "0": "poison" } }"#
        );
        assert_eq!(one_line(&document(infer, 1, &pairs)), expected);
    }
}
