//! Corpus metrics of summed statistics: BLEU and chrF, with lm-eval's bootstrap of a hundred resamples.

use super::Effort;
use crate::evaluator::metric_contribution::{Bounds, SampleValue};
use crate::evaluator::series::Column;
use crate::evaluator::{Metric, converted};
use compass_metrics::statistics::bootstrap_stderr;
use compass_metrics::translation::{Bleu, BleuStats, ChrfStats, TerStats};
use compass_plan::evaluation::BleuTokenizer;

/// lm-eval's cap for these metrics.
const RESAMPLES: usize = 100;

/// sacrebleu's BLEU of the corpus.
pub(super) fn bleu(name: &str, column: &Column, tokenizer: BleuTokenizer, effort: Effort) -> Option<Metric> {
    let bleu = Bleu { tokenizer: converted::tokenizer(tokenizer), ..Bleu::default() };
    metric(name, column, effort, |counts| match *counts {
        [sys_len, ref_len, c1, c2, c3, c4, t1, t2, t3, t4] => {
            let stats = BleuStats { sys_len, ref_len, correct: [c1, c2, c3, c4], total: [t1, t2, t3, t4] };
            bleu.score(&stats)
        }
        _ => f64::NAN,
    })
}

/// sacrebleu's chrF of the corpus.
pub(super) fn chrf(name: &str, column: &Column, effort: Effort) -> Option<Metric> {
    metric(name, column, effort, |counts| ChrfStats { orders: counts.as_chunks().0.to_vec() }.score())
}

/// sacrebleu's TER of the corpus. Mean lengths of references are not integers: they are added in order of the samples.
pub(super) fn ter(name: &str, column: &Column, effort: Effort) -> Option<Metric> {
    let samples = column.read(|item| match item {
        SampleValue::Scores(scores) => <&[f64; 2]>::try_from(scores.as_slice()).ok(),
        _ => None,
    });
    let of = |indices: &mut dyn Iterator<Item = usize>| {
        let mut sums = TerStats::default();
        indices.for_each(|at| sums.merge(&TerStats { edits: samples[at][0] as u64, ref_length: samples[at][1] }));
        sums.score()
    };
    let stderr = match effort {
        Effort::ClosedForm => None,
        Effort::Full => bootstrap_stderr(samples.len(), RESAMPLES, |drawn| of(&mut drawn.iter().copied())),
    };
    (!samples.is_empty()).then(|| Metric::estimate(name, of(&mut (0..samples.len())), stderr, Bounds::Positive))
}

/// The statistics of one sample as they are kept.
pub(in crate::evaluator) fn bleu_counts(stats: &BleuStats) -> Vec<u64> {
    [stats.sys_len, stats.ref_len].into_iter().chain(stats.correct).chain(stats.total).collect()
}

fn metric(name: &str, column: &Column, effort: Effort, score: impl Fn(&[u64]) -> f64) -> Option<Metric> {
    let samples = column.read(|item| match item {
        SampleValue::Counts(counts) => Some(counts.as_slice()),
        _ => None,
    });
    let width = samples.first()?.len();
    let of = |indices: &mut dyn Iterator<Item = usize>| {
        let mut sums = vec![0; width];
        indices.for_each(|at| sums.iter_mut().zip(samples[at]).for_each(|(sum, count)| *sum += count));
        score(&sums)
    };
    let stderr = match effort {
        Effort::ClosedForm => None,
        Effort::Full => bootstrap_stderr(samples.len(), RESAMPLES, |drawn| of(&mut drawn.iter().copied())),
    };
    Some(Metric::estimate(name, of(&mut (0..samples.len())), stderr, Bounds::Percent))
}
