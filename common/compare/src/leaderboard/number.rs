//! One run's number of a metric with its interval, from the same values that are compared.

use crate::clusters::{ClusterBy, clusters};
use crate::corpus::{has_value, statistic};
use crate::observed::{Hit, UnitData, seed};
use crate::reach::NO_SPREAD;
use crate::values::{Form, Values};
use compass_stats::{
    Interval, bootstrap, clustered_mean, paired_mean, percentile_interval, two_sided_t, two_sided_z, wilson,
    wilson_of_share,
};

/// Resamples of a corpus metric.
const RESAMPLES: usize = 1_000;
const CONFIDENCE: f64 = 0.95;

/// Value, standard error, 95 % interval, and over how many samples; the error of one sample is not known.
pub(super) struct Number {
    pub(super) value: f64,
    pub(super) stderr: Option<f64>,
    pub(super) interval: Option<(f64, f64)>,
    pub(super) samples: u64,
}

/// `None` where no sample has a value, or the metric has none by sample.
pub(super) fn number(unit: &UnitData, values: &Values<'_>) -> Option<Number> {
    match &values.form {
        Form::None(_) => None,
        Form::Hits(hits) => shares(unit, hits, values.factor),
        Form::Scores { values: scores, .. } => mean(unit, scores, values.factor),
        Form::Corpus { items, rule } => {
            let places: Vec<u32> = (0..unit.samples.len() as u32).filter(|&at| has_value(items, at)).collect();
            let of = statistic(rule, items, &places)?;
            let all: Vec<u32> = (0..places.len() as u32).collect();
            let value = of(&all).filter(|value| value.is_finite())?;
            let drawn = bootstrap(places.len(), RESAMPLES, seed(&unit.dataset, &values.name), |drawn| of(drawn));
            let interval = drawn.as_ref().and_then(|drawn| percentile_interval(&drawn.differences, CONFIDENCE));
            Some(Number {
                value,
                stderr: drawn.map(|drawn| drawn.stderr),
                interval: interval.map(|interval| (interval.low, interval.high)),
                samples: places.len() as u64,
            })
        }
    }
}

/// The clusters of the samples that have a value.
fn clustered(unit: &UnitData, scores: &[f64]) -> Option<(Vec<f64>, Vec<u32>, usize)> {
    let places: Vec<u32> = (0..scores.len() as u32).filter(|&at| !scores[at as usize].is_nan()).collect();
    let pairs: Vec<(u32, u32)> = places.iter().map(|&at| (at, at)).collect();
    let found = clusters(unit, &pairs, &ClusterBy::Passage)?;
    Some((places.iter().map(|&at| scores[at as usize]).collect(), found.of, found.count))
}

fn shares(unit: &UnitData, hits: &[Hit], factor: f64) -> Option<Number> {
    let total = hits.iter().filter(|hit| **hit != Hit::None).count() as u64;
    let right = hits.iter().filter(|hit| **hit == Hit::Right).count() as u64;
    let scores: Vec<f64> = hits
        .iter()
        .map(|hit| match hit {
            Hit::Right => 1.0,
            Hit::Wrong => 0.0,
            Hit::None => f64::NAN,
        })
        .collect();
    if clustered(unit, &scores).is_some() {
        return mean(unit, &scores, factor);
    }
    let interval = wilson(right, total, two_sided_z(CONFIDENCE))?;
    let share = right as f64 / total as f64;
    let stderr = (total > 1).then(|| (share * (1.0 - share) / (total - 1) as f64).sqrt());
    Some(Number {
        value: share * factor,
        stderr: stderr.map(|stderr| stderr * factor),
        interval: Some((interval.low * factor, interval.high * factor)),
        samples: total,
    })
}

fn mean(unit: &UnitData, scores: &[f64], factor: f64) -> Option<Number> {
    let known: Vec<f64> = scores.iter().copied().filter(|score| !score.is_nan()).collect();
    if known.is_empty() {
        return None;
    }
    let (found, units) = match clustered(unit, scores) {
        Some((values, of, count)) => (clustered_mean(&values, &of, count), count),
        None => (paired_mean(&known), known.len()),
    };
    let value = known.iter().sum::<f64>() / known.len() as f64;
    let interval = found.map(|found| {
        let half = two_sided_t(CONFIDENCE, found.freedom) * found.stderr;
        let student = Interval::around(value, half);
        // Values that are all alike tell of no spread: Wilson's interval, of the clusters where there are some.
        let is_share = factor != 1.0 && known.iter().all(|value| (0.0..=1.0).contains(value));
        let wilson = (is_share && found.stderr <= NO_SPREAD)
            .then(|| wilson_of_share(value, units as f64, two_sided_z(CONFIDENCE)))
            .flatten();
        wilson.map_or(student, |wilson| wilson.hull(student))
    });
    Some(Number {
        value: value * factor,
        stderr: found.map(|found| found.stderr * factor),
        interval: interval.map(|interval| (interval.low * factor, interval.high * factor)),
        samples: known.len() as u64,
    })
}
