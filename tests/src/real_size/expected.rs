//! Expected metrics: each is the mean over all rows of a number that each row's question tells.

use super::question::{Question, echo_nll, echo_tokens};

/// A metric of a data set whose value follows from its rows.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Its name in the results.
    pub metric: &'static str,
    /// Addend of one row to the mean.
    pub of: fn(&Question) -> f64,
    /// Largest distance of the metric from it: rounding, or a bootstrap's chance.
    pub tolerance: f64,
}

/// Rounding of a sum of at most millions of numbers up to a few hundred.
const ROUNDING: f64 = 1e-6;

/// 100 where the gold answer was made to be right.
pub(super) const fn right(metric: &'static str) -> Option<Expected> {
    Some(Expected { metric, of: |question| percent(question.is_right), tolerance: ROUNDING })
}

/// The same within `tolerance`.
pub(super) const fn right_within(metric: &'static str, tolerance: f64) -> Option<Expected> {
    Some(Expected { metric, of: |question| percent(question.is_right), tolerance })
}

/// 100 for every row.
pub(super) const fn always(metric: &'static str) -> Option<Expected> {
    Some(Expected { metric, of: |_| 100.0, tolerance: ROUNDING })
}

/// 100 where the likelier option is the labelled one.
pub(super) const fn chosen(metric: &'static str) -> Option<Expected> {
    Some(Expected { metric, of: |question| percent(question.chosen() == question.label()), tolerance: ROUNDING })
}

/// 100 where the first option is the likelier one.
pub(super) const fn first_chosen(metric: &'static str) -> Option<Expected> {
    Some(Expected { metric, of: |question| percent(question.chosen() == 0), tolerance: ROUNDING })
}

/// The prompt's negative log-likelihood per token.
pub(super) const fn mean_nll(metric: &'static str) -> Option<Expected> {
    let of = |question: &Question| echo_nll(&question.prompt) / f64::from(echo_tokens(&question.prompt));
    Some(Expected { metric, of, tolerance: ROUNDING })
}

fn percent(holds: bool) -> f64 {
    if holds { 100.0 } else { 0.0 }
}

impl Expected {
    /// Its value over the first `rows` questions of the data set `abbr`.
    pub fn value(&self, abbr: &str, rows: u32) -> f64 {
        let sum: f64 = (0..rows).map(|number| (self.of)(&Question::new(abbr, number))).sum();
        sum / f64::from(rows.max(1))
    }
}
