//! lm-eval's bootstrap, draw by draw: chunks of a thousand resamples, chunk i drawn by CPython's `random.Random(i)`.

use super::mean::deviation;
use crate::python_random::PythonRandom;

/// Resamples in a chunk, all of one generator.
const CHUNK: u32 = 1000;

/// The standard deviation (n - 1) of `statistic` over `resamples` draws of `n` from `n` with replacement, which lm-eval
/// takes for the standard error. The statistic is given the positions drawn, in the order drawn.
///
/// `None` for fewer than two samples, or when a resample has no finite statistic.
pub(super) fn stderr(n: usize, resamples: u32, mut statistic: impl FnMut(&[usize]) -> f64) -> Option<f64> {
    if n < 2 {
        return None;
    }
    let chunk = CHUNK.min(resamples);
    let mut drawn = vec![0; n];
    let mut replicates = Vec::with_capacity(resamples as usize);
    for seed in 0..resamples / chunk.max(1) {
        let mut random = PythonRandom::new(u64::from(seed));
        for _ in 0..chunk {
            drawn.iter_mut().for_each(|at| *at = choice(&mut random, n));
            replicates.push(statistic(&drawn));
        }
    }
    deviation(&replicates).filter(|deviation| deviation.is_finite())
}

/// One draw of `random.choices(range(n))`: `floor(random() * n)`, where `random()` has 53 random bits.
fn choice(random: &mut PythonRandom, n: usize) -> usize {
    let (high, low) = (random.getrandbits(27), random.getrandbits(26));
    let unit = ((high << 26) | low) as f64 / (1u64 << 53) as f64;
    ((unit * n as f64) as usize).min(n - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_those_of_cpython() {
        // random.Random(0).choices(range(10), k=6)
        let mut random = PythonRandom::new(0);
        let drawn: Vec<_> = (0..6).map(|_| choice(&mut random, 10)).collect();
        assert_eq!(drawn, [8, 7, 4, 2, 5, 4]);
    }

    #[test]
    fn the_bootstrap_of_a_mean_is_near_its_closed_form() {
        let scores = [1.0, 4.0, 2.0, 8.0, 5.0, 7.0, 3.0, 9.0];
        let mean = |drawn: &[usize]| drawn.iter().map(|&at| scores[at]).sum::<f64>() / drawn.len() as f64;
        let closed = super::super::mean::stderr(&scores).unwrap() * (7.0f64 / 8.0).sqrt();
        let error = stderr(scores.len(), 20_000, mean).unwrap();
        assert!((error / closed - 1.0).abs() < 0.02, "{error} {closed}");
        assert_eq!(stderr(1, 1000, |_| 1.0), None);
    }
}
