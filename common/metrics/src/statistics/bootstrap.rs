//! lm-eval's bootstrap of a standard error.

use super::mean::sample_stddev;
use compass_pyfmt::PythonRandom;

/// The standard deviation of `statistic` over resamples of `n` items, drawn as lm-eval draws them.
///
/// Chunks of at most 1000 resamples, chunk i from `random.Random(i)` by `choices`; what `iterations` leaves over a multiple
/// of the chunk is not drawn. `statistic` gets the indices of a resample. lm-eval's defaults: 100,000 iterations, 100 for
/// BLEU, chrF and TER. `None` for fewer than two resamples, or without items.
pub fn bootstrap_stderr(n: usize, iterations: usize, mut statistic: impl FnMut(&[usize]) -> f64) -> Option<f64> {
    let chunk = iterations.min(1000);
    if n == 0 || chunk == 0 {
        return None;
    }
    let mut replicates = Vec::with_capacity(iterations);
    let mut drawn = vec![0; n];
    for seed in 0..iterations / chunk {
        let mut random = PythonRandom::new(seed as u64);
        for _ in 0..chunk {
            drawn.iter_mut().for_each(|index| *index = random.choice_index(n));
            replicates.push(statistic(&drawn));
        }
    }
    sample_stddev(&replicates)
}
