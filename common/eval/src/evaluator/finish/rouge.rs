//! Hugging Face's `rouge`: per measure the median over bootstrap means, drawn from NumPy's generator of seed 0.

use super::Effort;
use crate::evaluator::Metric;
use crate::evaluator::metric_contribution::{Bounds, SampleValue};
use crate::evaluator::series::Column;
use compass_metrics::rouge::{RougeRow, RougeScore, rouge_medians};
use compass_metrics::statistics::{mean, mean_stderr};

/// OpenCompass seeds NumPy so before it computes.
const SEED: u32 = 0;

/// rouge1, rouge2, rougeL and rougeLsum in percent, each with the standard error of the plain mean. While a run goes on the
/// plain mean stands for the median.
pub(super) fn metrics(column: &Column, effort: Effort) -> Vec<Metric> {
    let samples: Vec<&[f64; 4]> = column.read(|item| match item {
        SampleValue::Scores(scores) => scores.as_slice().try_into().ok(),
        _ => None,
    });
    let measure = |at: usize| samples.iter().map(|scores| scores[at]).collect::<Vec<f64>>();
    let values = match effort {
        Effort::ClosedForm => (!samples.is_empty()).then(|| [0, 1, 2, 3].map(|at| mean(&measure(at)))),
        Effort::Full => medians(&samples),
    };
    let names = ["rouge1", "rouge2", "rougeL", "rougeLsum"];
    let metric = |(at, (name, value)): (usize, (&str, f64))| {
        Metric::estimate(name, value * 100.0, mean_stderr(&measure(at)).map(|error| 100.0 * error), Bounds::Percent)
    };
    names.into_iter().zip(values.into_iter().flatten()).enumerate().map(metric).collect()
}

fn medians(samples: &[&[f64; 4]]) -> Option<[f64; 4]> {
    // Only F-measures are reported; precision and recall are resampled by the same draws and change nothing.
    let score = |fmeasure: f64| RougeScore { fmeasure, ..RougeScore::default() };
    let row = |scores: &&[f64; 4]| RougeRow {
        rouge1: score(scores[0]),
        rouge2: score(scores[1]),
        rouge_l: score(scores[2]),
        rouge_lsum: score(scores[3]),
    };
    let rows: Vec<RougeRow> = samples.iter().map(row).collect();
    let RougeRow { rouge1, rouge2, rouge_l, rouge_lsum } = rouge_medians(&rows, SEED)?;
    Some([rouge1, rouge2, rouge_l, rouge_lsum].map(|score| score.fmeasure))
}
