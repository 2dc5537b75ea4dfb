//! `rouge_score.scoring.BootstrapAggregator`: the corpus score is the median of bootstrap means.

use super::score::RougeScore;
use compass_pyfmt::PythonRandom;
use serde::{Deserialize, Serialize};

/// The four measures of one sample, or of a corpus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RougeRow {
    /// Unigrams.
    pub rouge1: RougeScore,
    /// Bigrams.
    pub rouge2: RougeScore,
    /// The longest common subsequence.
    pub rouge_l: RougeScore,
    /// The union of longest common subsequences, line by line.
    pub rouge_lsum: RougeScore,
}

const RESAMPLES: usize = 1000;

/// The medians over 1000 bootstrap means, as Hugging Face's `rouge` reports them under `numpy.random.seed(seed)`.
///
/// The four measures are resampled one after the other from one stream, and precision, recall and F-measure by the same
/// draws: all four are needed even where one is wanted. OpenCompass's `RougeEvaluator` has seed 0 and reports 100 times
/// the F-measures. `None` without samples. The order of the samples is part of the result.
pub fn rouge_medians(rows: &[RougeRow], seed: u32) -> Option<RougeRow> {
    if rows.is_empty() {
        return None;
    }
    let mut random = PythonRandom::from_numpy_seed(seed);
    let mut median = |measure: fn(&RougeRow) -> RougeScore| {
        let scores: Vec<RougeScore> = rows.iter().map(measure).collect();
        median_of_means(&scores, &mut random)
    };
    Some(RougeRow {
        rouge1: median(|row| row.rouge1),
        rouge2: median(|row| row.rouge2),
        rouge_l: median(|row| row.rouge_l),
        rouge_lsum: median(|row| row.rouge_lsum),
    })
}

fn median_of_means(scores: &[RougeScore], random: &mut PythonRandom) -> RougeScore {
    let mut means: [Vec<f64>; 3] = Default::default();
    for _ in 0..RESAMPLES {
        let mut sums = [0.0; 3];
        for _ in scores {
            let score = scores[random.numpy_below(scores.len() as u32) as usize];
            for (sum, value) in sums.iter_mut().zip([score.precision, score.recall, score.fmeasure]) {
                *sum += value;
            }
        }
        for (means, sum) in means.iter_mut().zip(sums) {
            means.push(sum / scores.len() as f64);
        }
    }
    let [precision, recall, fmeasure] = means.map(median);
    RougeScore { precision, recall, fmeasure }
}

/// `numpy.percentile(values, 50)` of an even number of values: half way between the two in the middle, from above.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (below, above) = (values[values.len() / 2 - 1], values[values.len() / 2]);
    above - (above - below) * 0.5
}
