//! Shortening of long prompts: shots are dropped first, the last one first, then tokens at the configured side.
//!
//! OpenCompass drops shots `while len > max_seq_len` and lets the tokenizer truncate the rest; its inferencers know the
//! key of the model's configuration alone, so that without one every shot stays. Its options may then have different
//! shots. Here all options of a sample keep the same number, the smallest, since they are compared with
//! each other.

use super::answer::RunError;
use compass_plan::NumericProfile;
use compass_types::result::PromptFit;

/// Finds the largest number of shots that fits, or none, and returns it with its encoding.
///
/// `encode(kept)` returns an encoding and the number of tokens of its longest text. A text with more shots has more
/// tokens, so that the number is found by bisection: a prompt with a hundred shots too many is encoded eight times, not
/// a hundred times.
///
/// # Errors
/// An error of `encode`.
pub(super) fn drop_shots<T>(
    shots: usize,
    limit: usize,
    mut encode: impl FnMut(usize) -> Result<(T, usize), RunError>,
) -> Result<(usize, T), RunError> {
    let (encoded, longest) = encode(shots)?;
    if shots == 0 || longest <= limit {
        return Ok((shots, encoded));
    }
    // `fits` shots fit, or it is 0; `exceeds` do not.
    let (mut fits, mut exceeds) = (0, shots);
    let mut best = None;
    while exceeds - fits > 1 {
        let middle = fits + (exceeds - fits) / 2;
        let (encoded, longest) = encode(middle)?;
        if longest <= limit {
            (fits, best) = (middle, Some(encoded));
        } else {
            exceeds = middle;
        }
    }
    match best {
        Some(encoded) => Ok((fits, encoded)),
        None => Ok((0, encode(0)?.0)),
    }
}

/// Fits shots by the rule of a profile: lm-eval keeps every shot, and cuts tokens on the left.
///
/// # Errors
/// An error of `encode`.
pub(super) fn fit_shots<T>(
    profile: NumericProfile,
    shots: usize,
    limit: usize,
    mut encode: impl FnMut(usize) -> Result<(T, usize), RunError>,
) -> Result<(usize, T), RunError> {
    match profile {
        NumericProfile::LmEvalHf => Ok((shots, encode(shots)?.0)),
        NumericProfile::Canonical | NumericProfile::Opencompass => drop_shots(shots, limit, encode),
    }
}

/// Returns the report of a sample whose longest text had `longest` tokens after shots were dropped.
pub(super) fn report(shots_kept: usize, longest: usize, limit: usize) -> PromptFit {
    PromptFit {
        shots_kept: shots_kept as u32,
        tokens: longest.min(limit) as u32,
        truncated_from: if longest > limit { longest as u32 } else { 0 },
        ..PromptFit::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shots kept, and the number of encodings.
    fn kept(shots: usize, limit: usize) -> (usize, usize, usize) {
        let mut times = 0;
        let (kept, length) = drop_shots(shots, limit, |kept| {
            times += 1;
            Ok((10 + 5 * kept, 10 + 5 * kept))
        })
        .unwrap();
        (kept, length, times)
    }

    #[test]
    fn last_shots_are_dropped_until_the_prompt_fits() {
        assert_eq!(kept(4, 30), (4, 30, 1));
        assert_eq!(kept(4, 29), (3, 25, 3));
        assert_eq!(kept(4, 10), (0, 10, 4));
        assert_eq!(kept(4, 3), (0, 10, 4));
        assert_eq!(kept(0, 3), (0, 10, 1));
        assert_eq!(kept(1, 12), (0, 10, 2));
        for limit in 0..200 {
            let linear = (0..=30).rev().find(|shots| 10 + 5 * shots <= limit).unwrap_or(0);
            let (kept, length, times) = kept(30, limit);
            assert_eq!((kept, length), (linear, 10 + 5 * linear));
            assert!(times <= 7, "{times}");
        }
    }

    #[test]
    fn lm_eval_drops_no_shot() {
        let fitted = |profile| fit_shots(profile, 4, 20, |kept| Ok((kept, 10 + 5 * kept))).unwrap();
        assert_eq!(fitted(NumericProfile::LmEvalHf), (4, 4));
        assert_eq!(fitted(NumericProfile::Canonical), (2, 2));
    }

    #[test]
    fn reports() {
        let fit = |shots_kept, tokens, truncated_from| PromptFit {
            shots_kept,
            tokens,
            truncated_from,
            ..PromptFit::default()
        };
        assert_eq!(report(2, 4, 9), fit(2, 4, 0));
        assert_eq!(report(0, 4, 3), fit(0, 3, 4));
    }
}
