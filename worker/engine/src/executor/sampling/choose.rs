//! Chooses a token from processed logits: the best, or a draw identified by (seed, sample, sequence, step).

use super::philox::uniform;

/// Identity of a draw. For a given seed every sample, sequence and step has its own number, independent of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draw {
    pub(crate) seed: u64,
    /// Index of the sample in its data set.
    pub(crate) sample: u32,
    /// Number of the sequence among the sample's.
    pub(crate) sequence: u32,
}

impl Draw {
    /// Returns the number in [0, 1) of a step: Philox4x32-10 with the seed as key and (sample, sequence, step, 0) as
    /// counter.
    pub(crate) fn at(self, step: usize) -> f64 {
        uniform([self.seed as u32, (self.seed >> 32) as u32], [self.sample, self.sequence, step as u32, 0])
    }
}

/// Returns the next token: the most probable one, ties to the lowest id; or with a draw, the first one whose cumulative
/// probability, in order of ids, exceeds the number of this step. `None` if no logit is a number.
pub(crate) fn choose(logits: &[f32], draw: Option<(Draw, usize)>) -> Option<u32> {
    let Some((draw, step)) = draw else { return best(logits) };
    let probabilities = probabilities(logits)?;
    let wanted = draw.at(step);
    let mut sum = 0.0;
    let mut last = None;
    for (id, probability) in probabilities.into_iter().enumerate().filter(|(_, probability)| *probability > 0.0) {
        sum += probability;
        last = Some(id as u32);
        if sum > wanted {
            break;
        }
    }
    last
}

fn best(logits: &[f32]) -> Option<u32> {
    let numbers = logits.iter().enumerate().filter(|(_, logit)| !logit.is_nan());
    let best = numbers.reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map(|(id, _)| id as u32)
}

/// Softmax in f64; `None` if no logit is finite.
pub(super) fn probabilities(logits: &[f32]) -> Option<Vec<f64>> {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if !most.is_finite() || logits.iter().any(|logit| logit.is_nan()) {
        return None;
    }
    let weights: Vec<f64> = logits.iter().map(|logit| f64::from(logit - most).exp()).collect();
    let sum: f64 = weights.iter().sum();
    Some(weights.into_iter().map(|weight| weight / sum).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_token_and_logits_that_are_not_numbers() {
        assert_eq!(choose(&[1.0, 3.0, 3.0], None), Some(1));
        assert_eq!(choose(&[f32::NAN, f32::NEG_INFINITY], None), Some(1));
        assert_eq!((choose(&[], None), choose(&[f32::NAN], None)), (None, None));
        let draw = Draw { seed: 1, sample: 0, sequence: 0 };
        assert_eq!(choose(&[f32::NAN, 1.0], Some((draw, 0))), None);
        assert_eq!(choose(&[f32::NEG_INFINITY, -1e30, f32::NEG_INFINITY], Some((draw, 0))), Some(1));
    }

    /// Pearson's chi-square of draws over samples, over sequences and over steps against the distribution itself.
    #[test]
    fn draws_follow_the_distribution() {
        let logits: Vec<f32> =
            [0.5f64, 0.2, 0.1, 0.1, 0.05, 0.03, 0.015, 0.005].iter().map(|p| p.ln() as f32).collect();
        let expected = probabilities(&logits).unwrap();
        let drawn = 40_000usize;
        // 0.999 quantile of chi-square with 7 degrees of freedom.
        let border = 24.32;
        for seed in [0, 1, 20_261_121, u64::MAX] {
            for which in ["samples", "sequences", "steps"] {
                let mut counts = [0usize; 8];
                for i in 0..drawn {
                    let draw = match which {
                        "samples" => (Draw { seed, sample: i as u32, sequence: 0 }, 0),
                        "sequences" => (Draw { seed, sample: 3, sequence: i as u32 }, 5),
                        _ => (Draw { seed, sample: 3, sequence: 1 }, i),
                    };
                    counts[choose(&logits, Some(draw)).unwrap() as usize] += 1;
                }
                let square = |(count, p): (usize, &f64)| {
                    let mean = p * drawn as f64;
                    (count as f64 - mean).powi(2) / mean
                };
                let statistic: f64 = counts.into_iter().zip(&expected).map(square).sum();
                assert!(statistic < border, "seed {seed}, over {which}: {statistic} {counts:?}");
            }
        }
    }

    #[test]
    fn draws_depend_only_on_their_identity() {
        let logits = vec![0.0; 1000];
        let tokens = |seed, sample, sequence| -> Vec<u32> {
            (0..8).map(|step| choose(&logits, Some((Draw { seed, sample, sequence }, step))).unwrap()).collect()
        };
        assert_eq!(tokens(5, 1, 0), tokens(5, 1, 0));
        for other in [tokens(6, 1, 0), tokens(5, 2, 0), tokens(5, 1, 1)] {
            assert_ne!(tokens(5, 1, 0), other);
        }
    }
}
