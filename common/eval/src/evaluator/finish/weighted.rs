//! Ratios of two sums: perplexity per word or byte, bits per byte, points of points.
//!
//! lm-eval gives these no standard error ("N/A"). Ours is the delta method's for a ratio estimator over samples (Cochran,
//! Sampling Techniques, 1977, 6.4): `sqrt(n / (n - 1) * sum (a_i - R b_i)^2) / sum b`.

use crate::evaluator::metric_contribution::{Bounds, SampleValue};
use crate::evaluator::series::Column;
use crate::evaluator::{Metric, Z_95};

/// lm-eval's `weighted_perplexity`: `exp(-R)`, its interval the one of R carried over.
pub(super) fn perplexity(name: &str, column: &Column) -> Option<Metric> {
    let Sums { ratio, stderr, .. } = sums(column)?;
    let value = (-ratio).exp();
    let ci95 = stderr.map(|stderr| ((-ratio - Z_95 * stderr).exp(), (-ratio + Z_95 * stderr).exp()));
    Some(Metric { name: name.into(), value, stderr: stderr.map(|stderr| value * stderr), ci95 })
}

/// lm-eval's `bits_per_byte`: `-R / ln 2`.
pub(super) fn bits(name: &str, column: &Column) -> Option<Metric> {
    let Sums { ratio, stderr, .. } = sums(column)?;
    let ln2 = std::f64::consts::LN_2;
    Some(Metric::estimate(name, -ratio / ln2, stderr.map(|stderr| stderr / ln2), Bounds::Positive))
}

/// R in percent, of parts that are no greater than their weights.
pub(super) fn ratio(name: &str, column: &Column) -> Option<Metric> {
    let Sums { sum, weight, stderr, .. } = sums(column)?;
    let stderr = stderr.map(|stderr| 100.0 * stderr);
    Some(Metric::estimate(name, sum / weight * 100.0, stderr, Bounds::Percent))
}

/// R as it is.
pub(super) fn mean(name: &str, column: &Column) -> Option<Metric> {
    let Sums { ratio, stderr, .. } = sums(column)?;
    Some(Metric::estimate(name, ratio, stderr, Bounds::Positive))
}

struct Sums {
    sum: f64,
    weight: f64,
    ratio: f64,
    stderr: Option<f64>,
}

/// Sums in order of the samples; `None` without weight to divide by.
fn sums(column: &Column) -> Option<Sums> {
    let pairs = column.read(|item| match item {
        SampleValue::Weighted(sum, weight) => Some((*sum, *weight as f64)),
        _ => None,
    });
    let sum: f64 = pairs.iter().map(|(sum, _)| sum).sum();
    let weight: f64 = pairs.iter().map(|(_, weight)| weight).sum();
    let ratio = sum / weight;
    let n = pairs.len() as f64;
    let squares: f64 = pairs.iter().map(|(sum, weight)| (sum - ratio * weight).powi(2)).sum();
    let stderr = (pairs.len() > 1).then(|| (n / (n - 1.0) * squares).sqrt() / weight);
    (weight > 0.0).then_some(Sums { sum, weight, ratio, stderr })
}

#[cfg(test)]
mod tests {
    use crate::evaluator::fixture::*;
    use crate::evaluator::{Accumulator, Metrics};
    use compass_plan::EvalSpec;
    use compass_plan::evaluation::{EvaluatorSpec, TextScore};
    use serde_json::json;

    fn metrics(evaluator: EvaluatorSpec, rows: &[(serde_json::Value, &str)]) -> Metrics {
        let mut accumulator = Accumulator::new(&EvalSpec::new(evaluator));
        for (index, (gold, answer)) in rows.iter().enumerate() {
            let index = index as u32;
            accumulator.observe(&generate(index, gold.clone()), &generated(index, answer));
        }
        accumulator.finish()
    }

    #[test]
    fn intervals_stay_within_what_the_metric_can_be() {
        let row = |instruction: &str| json!({"instruction_id_list": [instruction], "kwargs": [{}]});
        let rows = [(row("punctuation:no_comma"), "a"), (row("punctuation:no_comma"), "a, b")];
        let ifeval = metrics(EvaluatorSpec::Ifeval, &rows);
        let squad = metrics(
            EvaluatorSpec::Score { score: TextScore::Squad },
            &[(json!(["a cat"]), "a cat"), (json!(["a cat"]), "dogs")],
        );
        for metrics in [ifeval, squad] {
            for metric in &metrics.values {
                let (low, high) = metric.ci95.unwrap();
                assert!(0.0 <= low && low < metric.value && metric.value < high && high <= 100.0, "{metric:?}");
            }
        }
    }
}
