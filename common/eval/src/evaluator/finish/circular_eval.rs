//! CircularEval: a question counts by how many of its askings are right.

use crate::evaluator::metric_contribution::{Bounds, SampleValue};
use crate::evaluator::series::Column;
use crate::evaluator::{Metric, Proportion};
use compass_metrics::statistics::mean_stderr;
use std::collections::BTreeMap;

/// Right answers of all, in percent, with the standard error of the mean over questions; where every question is asked once, with
/// Wilson's interval.
pub(super) fn accuracy(name: &str, column: &Column) -> Option<Metric> {
    let questions = questions(column);
    let (hits, total) = questions.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let percent = |hits: f64, total: f64| hits / total * 100.0;
    if questions.len() as u64 == total {
        return Metric::proportion(name, Proportion { hits, total }, percent);
    }
    let means: Vec<f64> = questions.values().map(|&(right, of)| right as f64 / of as f64).collect();
    let stderr = mean_stderr(&means).map(|stderr| 100.0 * stderr);
    Some(Metric::estimate(name, percent(hits as f64, total as f64), stderr, Bounds::Percent))
}

/// `more_{j}_{set}`, questions with at least j right askings, for every j below `of`, and `perf_{set}`, those with `of`: in
/// percent of the questions.
pub(super) fn at_least(column: &Column, set: &str, of: u64) -> Vec<Metric> {
    let questions = questions(column);
    let metric = |least: u64| {
        let hits = questions.values().filter(|(right, _)| *right >= least).count() as u64;
        let name = if least == of { format!("perf_{set}") } else { format!("more_{least}_{set}") };
        let proportion = Proportion { hits, total: questions.len() as u64 };
        Metric::proportion(&name, proportion, |hits, total| hits / total * 100.0)
    };
    (1..=of).filter_map(metric).collect()
}

/// Right and all askings of each question.
fn questions(column: &Column) -> BTreeMap<&str, (u64, u64)> {
    let mut questions: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let asked = column.read(|item| match item {
        SampleValue::Attempts { group, right, of } => Some((group.as_str(), *right, *of)),
        _ => None,
    });
    for (group, right, of) in asked {
        let question = questions.entry(group).or_default();
        question.0 += right;
        question.1 += of;
    }
    questions
}
