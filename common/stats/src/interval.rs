//! A confidence interval.

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// The interval around `centre` that reaches `half` to either side.
    pub fn around(centre: f64, half: f64) -> Self {
        Self { low: centre - half, high: centre + half }
    }

    /// The interval from the lower of both low ends to the higher of both high ends.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Each end no further out than that of another interval.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        Self { low: self.low.max(other.low), high: self.high.min(other.high) }
    }

    /// Both ends with an amount added.
    #[must_use]
    pub fn shifted(self, amount: f64) -> Self {
        Self { low: self.low + amount, high: self.high + amount }
    }

    /// Both ends times a positive factor.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { low: self.low * factor, high: self.high * factor }
    }

    /// The interval of the negated number.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { low: -self.high, high: -self.low }
    }
}
