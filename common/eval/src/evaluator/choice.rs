//! The option that wins: the highest finite score, the first of equals.

/// The winner among scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// Its position.
    pub(super) at: usize,
    /// Set if another option has exactly the same score.
    pub(super) tie: bool,
}

/// The position of the highest score, the first among equals. A score that is not finite never wins; `None` when none is
/// finite.
pub(super) fn highest(scores: impl IntoIterator<Item = f64>) -> Option<Choice> {
    let mut best: Option<(f64, Choice)> = None;
    for (at, score) in scores.into_iter().enumerate().filter(|(_, score)| score.is_finite()) {
        match &mut best {
            Some((top, choice)) if score == *top => choice.tie = true,
            Some((top, _)) if score < *top => {}
            _ => best = Some((score, Choice { at, tie: false })),
        }
    }
    best.map(|(_, choice)| choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_of_the_highest() {
        let won = |scores: &[f64]| highest(scores.iter().copied()).map(|choice| (choice.at, choice.tie));
        assert_eq!(won(&[]), None);
        assert_eq!(won(&[-2.0, -1.0, -3.0]), Some((1, false)));
        assert_eq!(won(&[-1.0, -1.0, -0.5]), Some((2, false)));
        assert_eq!(won(&[-2.0, -1.0, -1.0]), Some((1, true)));
        assert_eq!(won(&[0.0, -0.0]), Some((0, true)));
    }

    #[test]
    fn only_finite_scores_win() {
        let won = |scores: &[f64]| highest(scores.iter().copied()).map(|choice| (choice.at, choice.tie));
        assert_eq!(won(&[f64::NAN, -5.0, f64::INFINITY]), Some((1, false)));
        assert_eq!(won(&[f64::NEG_INFINITY, -1e300]), Some((1, false)));
        assert_eq!(won(&[f64::NAN, f64::NEG_INFINITY]), None);
    }
}
