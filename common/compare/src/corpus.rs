//! Corpus metrics of any draw of samples: the sums that they are made of, and the number that the sums make.
//!
//! Exponentials are those of `libm`, so that no machine's own enter; where a peer's formula is computed elsewhere (BLEU), the
//! number is rounded to ten decimals.

use super::observed::Column;
use compass_eval::evaluator::{Aggregation, SampleValue};
use compass_metrics::statistics::{ClassTotals, Classes};
use compass_metrics::translation::{Bleu, BleuStats, ChrfStats, TerStats};
use compass_plan::evaluation::F1Average;
use libm::exp;
use std::f64::consts::LN_2;

/// The number of the samples drawn, which are positions among those that it was made for, and may be there more than once.
pub(crate) type Statistic<'a> = Box<dyn Fn(&[u32]) -> Option<f64> + 'a>;

/// Returns whether a sample at a position has a value.
pub(crate) fn has_value(column: &Column, at: u32) -> bool {
    match column {
        Column::Items(items) => items[at as usize].is_some(),
        Column::Scores(scores) => !scores[at as usize].is_nan(),
        Column::Hits(_) | Column::Several { .. } => false,
    }
}

/// The metric over the samples at `places`. `None` for a rule that is no corpus metric.
pub(crate) fn statistic<'a>(rule: &Aggregation, column: &'a Column, places: &[u32]) -> Option<Statistic<'a>> {
    let items = || -> Vec<&'a SampleValue> {
        let Column::Items(items) = column else { return Vec::new() };
        places.iter().filter_map(|&at| items[at as usize].as_ref()).collect()
    };
    let weighted = |of: fn(f64) -> f64| -> Statistic<'a> {
        let pairs: Vec<(f64, f64)> = items()
            .into_iter()
            .map(|item| match item {
                SampleValue::Weighted(sum, weight) => (*sum, *weight as f64),
                _ => (f64::NAN, 0.0),
            })
            .collect();
        Box::new(move |drawn| {
            let add = |(sum, weight): (f64, f64), at: &u32| {
                let (more, of) = pairs[*at as usize];
                (sum + more, weight + of)
            };
            let (sum, weight) = drawn.iter().fold((0.0, 0.0), add);
            (weight > 0.0).then(|| of(sum / weight))
        })
    };
    Some(match rule {
        Aggregation::Perplexity => {
            let Column::Scores(scores) = column else { return None };
            let scores: Vec<f64> = places.iter().map(|&at| scores[at as usize]).collect();
            Box::new(move |drawn| {
                let sum: f64 = drawn.iter().map(|&at| scores[at as usize]).sum();
                (!drawn.is_empty()).then(|| exp(-sum / drawn.len() as f64))
            })
        }
        Aggregation::WeightedPerplexity => weighted(|ratio| exp(-ratio)),
        Aggregation::BitsPerWeight => weighted(|ratio| -ratio / LN_2),
        Aggregation::Ratio => weighted(|ratio| 100.0 * ratio),
        Aggregation::MeanPerWeight => weighted(|ratio| ratio),
        Aggregation::Matthews { scale } => classes(&items(), scale.factor(), |_, totals| totals.matthews_correlation()),
        Aggregation::F1 { average } => {
            let of: ClassScore = match average {
                F1Average::Macro => |_, totals| totals.macro_f1(),
                F1Average::Micro => |_, totals| totals.micro_f1(),
                F1Average::Weighted => |_, totals| totals.weighted_f1(),
                F1Average::Binary => |classes, totals| classes.number("1").map_or(0.0, |class| totals.f1(class)),
            };
            classes(&items(), 100.0, of)
        }
        Aggregation::AucRoc => area(&items()),
        Aggregation::Bleu { .. } => counts(items(), |counts| match *counts {
            [sys_len, ref_len, c1, c2, c3, c4, t1, t2, t3, t4] => {
                let stats = BleuStats { sys_len, ref_len, correct: [c1, c2, c3, c4], total: [t1, t2, t3, t4] };
                rounded(Bleu::default().score(&stats))
            }
            _ => f64::NAN,
        }),
        Aggregation::Chrf { .. } => {
            counts(items(), |counts| rounded(ChrfStats { orders: counts.as_chunks().0.to_vec() }.score()))
        }
        Aggregation::Ter => {
            let items = items();
            let samples: Vec<(u64, f64)> = items
                .into_iter()
                .map(|item| match item {
                    SampleValue::Scores(scores) => match scores.as_slice() {
                        &[edits, length] => (edits as u64, length),
                        _ => (0, 0.0),
                    },
                    _ => (0, 0.0),
                })
                .collect();
            Box::new(move |drawn| {
                let mut sums = TerStats::default();
                for (edits, ref_length) in drawn.iter().map(|&at| samples[at as usize]) {
                    sums.merge(&TerStats { edits, ref_length });
                }
                Some(sums.score())
            })
        }
        _ => return None,
    })
}

fn rounded(value: f64) -> f64 {
    (value * 1e10).round() / 1e10
}

fn counts<'a>(items: Vec<&'a SampleValue>, score: impl Fn(&[u64]) -> f64 + 'a) -> Statistic<'a> {
    let rows: Vec<&'a [u64]> = items
        .into_iter()
        .map(|item| match item {
            SampleValue::Counts(counts) => counts.as_slice(),
            _ => &[],
        })
        .collect();
    let width = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    Box::new(move |drawn| {
        let mut sums = vec![0; width];
        for &at in drawn {
            sums.iter_mut().zip(rows[at as usize]).for_each(|(sum, count)| *sum += count);
        }
        (!drawn.is_empty()).then(|| score(&sums))
    })
}

type ClassScore = fn(&Classes, &ClassTotals) -> f64;

fn classes<'a>(items: &[&'a SampleValue], factor: f64, score: ClassScore) -> Statistic<'a> {
    let pairs: Vec<(&str, &str)> = items
        .iter()
        .map(|item| match item {
            SampleValue::Classes(gold, predicted) => (gold.as_str(), predicted.as_str()),
            _ => ("", ""),
        })
        .collect();
    let classes = Classes::new(&pairs);
    Box::new(move |drawn| {
        let totals = classes.totals_of(drawn.iter().map(|&at| at as usize));
        (!drawn.is_empty()).then(|| factor * score(&classes, &totals))
    })
}

/// The area under the ROC curve in percent: sorted once, then counted over the draw.
fn area<'a>(items: &[&SampleValue]) -> Statistic<'a> {
    let ranked: Vec<(bool, f64)> = items
        .iter()
        .map(|item| match item {
            SampleValue::Ranked(positive, score) => (*positive, *score),
            _ => (false, f64::NAN),
        })
        .collect();
    let mut order: Vec<u32> = (0..ranked.len() as u32).collect();
    order.sort_by(|a, b| ranked[*a as usize].1.total_cmp(&ranked[*b as usize].1));
    Box::new(move |drawn| {
        let mut times = vec![0u32; ranked.len()];
        drawn.iter().for_each(|&at| times[at as usize] += 1);
        let (mut below, mut twice, mut positives, mut negatives) = (0u128, 0u128, 0u128, 0u128);
        for tied in order.chunk_by(|a, b| ranked[*a as usize].1 == ranked[*b as usize].1) {
            let of = |class: bool| -> u128 {
                let members = tied.iter().filter(|&&at| ranked[at as usize].0 == class);
                members.map(|&at| u128::from(times[at as usize])).sum()
            };
            let (hits, misses) = (of(true), of(false));
            twice += hits * (2 * below + misses);
            below += misses;
            positives += hits;
            negatives += misses;
        }
        let pairs = positives * negatives;
        (pairs > 0).then(|| 100.0 * twice as f64 / (2 * pairs) as f64)
    })
}
