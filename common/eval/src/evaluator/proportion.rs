//! A contribution of right answers with its uncertainty. Integers until the last step, so that any order of counting agrees.

/// The standard normal quantile at 0.975.
pub const Z_95: f64 = 1.959963984540054;

/// `hits` of `total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proportion {
    pub hits: u64,
    pub total: u64,
}

impl Proportion {
    /// Standard error of the mean in percent, lm-eval's closed form: sample standard deviation (n - 1) over the root of n,
    /// which for zeros and ones is `sqrt(p (1 - p) / (n - 1))`. `None` for fewer than two samples.
    pub fn stderr(self) -> Option<f64> {
        let (p, n) = self.proportion()?;
        (self.total > 1).then(|| 100.0 * (p * (1.0 - p) / (n - 1.0)).sqrt())
    }

    /// The 95 % Wilson score interval in percent (E. B. Wilson, 1927): unlike the normal one it stays within 0 and 100 and
    /// does not collapse when all answers are right or none is. `None` without samples.
    pub fn wilson(self) -> Option<(f64, f64)> {
        let (p, n) = self.proportion()?;
        let square = Z_95 * Z_95;
        let scale = 100.0 / (1.0 + square / n);
        let centre = scale * (p + square / (2.0 * n));
        let half = scale * Z_95 * (p * (1.0 - p) / n + square / (4.0 * n * n)).sqrt();
        // At the ends the bounds are exact; rounding must not pull them in.
        let low = if self.hits == 0 { 0.0 } else { centre - half };
        let high = if self.hits == self.total { 100.0 } else { centre + half };
        Some((low, high))
    }

    fn proportion(self) -> Option<(f64, f64)> {
        let n = self.total as f64;
        (self.total > 0).then(|| (self.hits as f64 / n, n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-9
    }

    #[test]
    fn standard_error_is_that_of_zeros_and_ones() {
        // statistics.stdev([1] * 24 + [0] * 36) / sqrt(60), which is what lm-eval prints for an accuracy of 0.4
        let error = Proportion { hits: 24, total: 60 }.stderr().unwrap();
        assert!(close(error, 6.377928041432807), "{error}");
        assert_eq!(Proportion { hits: 1, total: 1 }.stderr(), None);
        assert_eq!(Proportion { hits: 0, total: 0 }.stderr(), None);
    }

    #[test]
    fn wilson_interval() {
        // the formula in 40 decimal digits
        let (low, high) = Proportion { hits: 8, total: 10 }.wilson().unwrap();
        assert!(close(low, 49.016247153) && close(high, 94.331784854), "{low} {high}");
        let (low, high) = Proportion { hits: 0, total: 10 }.wilson().unwrap();
        assert!(low == 0.0 && close(high, 27.753279986), "{low} {high}");
        assert_eq!(Proportion { hits: 10, total: 10 }.wilson().unwrap().1, 100.0);
        assert_eq!(Proportion { hits: 0, total: 0 }.wilson(), None);
    }
}
