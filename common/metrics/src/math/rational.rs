//! Exact fractions, and the numbers that a string plainly states: integers, decimals, fractions of integers.

/// A fraction in lowest terms with a positive denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rational {
    over: i128,
    under: i128,
}

impl Rational {
    pub(super) const ONE: Self = Self { over: 1, under: 1 };

    /// A whole number.
    pub(super) fn whole(number: i128) -> Self {
        Self { over: number, under: 1 }
    }

    /// `-?d`, `-?d.d`, `-?\frac{d}{d}`, `-?d/d`; `None` for everything else, for zero denominators and beyond 30 digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (sign, text) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        if let Some(fraction) = text.strip_prefix("\\frac{") {
            let (over, under) = fraction.strip_suffix('}')?.split_once("}{")?;
            return Self::reduced(sign * digits(over)?, digits(under)?);
        }
        if let Some((over, under)) = text.split_once('/') {
            return Self::reduced(sign * digits(over)?, digits(under)?);
        }
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let over = digits(&format!("{whole}{decimals}"))?;
        if whole.is_empty() || (decimals.is_empty() && text.contains('.')) {
            return None;
        }
        Self::reduced(sign * over, 10i128.checked_pow(decimals.len() as u32)?)
    }

    pub(super) fn is_zero(self) -> bool {
        self.over == 0
    }

    /// `None` beyond 127 bits, as for all operations.
    pub(super) fn plus(self, other: Self) -> Option<Self> {
        let over = self.over.checked_mul(other.under)?.checked_add(other.over.checked_mul(self.under)?)?;
        Self::reduced(over, self.under.checked_mul(other.under)?)
    }

    pub(super) fn times(self, other: Self) -> Option<Self> {
        Self::reduced(self.over.checked_mul(other.over)?, self.under.checked_mul(other.under)?)
    }

    pub(super) fn negated(self) -> Self {
        Self { over: -self.over, ..self }
    }

    /// `None` of zero.
    pub(super) fn inverted(self) -> Option<Self> {
        Self::reduced(self.under.checked_mul(self.over.signum())?, self.over.checked_abs()?)
    }

    /// The number if it is whole.
    pub(super) fn as_whole(self) -> Option<i128> {
        (self.under == 1).then_some(self.over)
    }

    /// Numerator and denominator.
    pub(super) fn parts(self) -> (i128, i128) {
        (self.over, self.under)
    }

    fn reduced(over: i128, under: i128) -> Option<Self> {
        if under == 0 {
            return None;
        }
        let (mut a, mut b) = (over.checked_abs()?, under);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Some(Self { over: over / a, under: under / a })
    }
}

fn digits(text: &str) -> Option<i128> {
    let plain = !text.is_empty() && text.len() <= 30 && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}
