//! Sums that may be empty.

/// The sum in order, from 0.0: `Iterator::sum` of no numbers is -0.0, which is printed with its sign.
pub(crate) fn sum(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |sum, value| sum + value)
}
