//! The interval of a mean over questions of values between 0 and 1: pass@k and its kin.
//!
//! Wilson's, of as many questions of one answer as would have the same standard error (Korn and Graubard 1998), with Student's
//! quantile (Kott and Liu 2009): it stays within 0 and 1 and does not collapse where the values of most questions are 0 or 1, as
//! the normal one does.

use super::{Interval, two_sided_t, wilson_of_share};

/// Standard error of values that are all alike, as floats sum them.
const NO_SPREAD: f64 = 1e-12;

/// The interval of the mean of `values`, one for each question. Values that are all alike tell of no spread, and count as one
/// answer each. `None` for fewer than two questions.
pub fn question_mean(values: &[f64], confidence: f64) -> Option<Interval> {
    let count = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let mean = (values.iter().sum::<f64>() / count).clamp(0.0, 1.0);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let variance = squares / (count - 1.0) / count;
    let effective = if variance.sqrt() <= NO_SPREAD { count } else { mean * (1.0 - mean) / variance };
    wilson_of_share(mean, effective, two_sided_t(confidence, count - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_count_as_one_less_than_there_are() {
        let hits: Vec<f64> = (0..30).map(|at| f64::from(u8::from(at < 25))).collect();
        let (found, of_shares) =
            (question_mean(&hits, 0.95).unwrap(), wilson_of_share(25.0 / 30.0, 29.0, two_sided_t(0.95, 29.0)).unwrap());
        assert!((found.low - of_shares.low).abs() < 1e-12 && (found.high - of_shares.high).abs() < 1e-12);
        let halves: Vec<f64> = hits.iter().map(|hit| 0.25 + hit / 2.0).collect();
        let narrower = question_mean(&halves, 0.95).unwrap();
        assert!(narrower.high - narrower.low < (found.high - found.low) * 0.6);
    }

    #[test]
    fn no_spread_is_no_certainty() {
        let interval = question_mean(&[1.0; 10], 0.95).unwrap();
        assert!(interval.low > 0.6 && interval.low < 0.7 && interval.high == 1.0, "{interval:?}");
        let thirds = question_mean(&[1.0 / 3.0; 10], 0.95).unwrap();
        assert!(thirds.low < 0.12 && thirds.high > 0.6, "{thirds:?}");
        assert_eq!((question_mean(&[0.5], 0.95), question_mean(&[], 0.95)), (None, None));
    }
}
