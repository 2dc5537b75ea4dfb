//! The document `results/<model>/<dataset>.json`.

use super::findings::SampleLines;
use super::{Details, Findings};
use crate::evaluator::{Metric, Metrics};
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
    findings.append(&mut document);
    let details = findings.details(dataset.infer.mode()).filter(|_| details == Details::Include);
    ResultsDocument { summary: document, details }
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
    use compass_types::result::SampleResult;

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
