//! Metrics of several answers to each question, averaged as OpenCompass does for `n` runs.

use super::numpy::mean;
use crate::evaluator::Metric;

/// One metric per name that every replica has, called `<name> (<n> runs average)`. Its uncertainty is not given: answers to
/// one question are not independent; the line of right answers per question has one.
pub(super) fn over_replicas(replicas: Vec<Vec<Metric>>) -> Vec<Metric> {
    let n = replicas.len();
    let first = replicas.first().cloned().unwrap_or_default();
    let average = |metric: Metric| {
        let same = |replica: &Vec<Metric>| replica.iter().find(|other| other.name == metric.name).map(|m| m.value);
        let values: Vec<f64> = replicas.iter().filter_map(same).collect();
        let name = format!("{} ({n} runs average)", metric.name);
        (values.len() == n).then(|| Metric::plain(&name, mean(&values)))
    };
    first.into_iter().filter_map(average).collect()
}
