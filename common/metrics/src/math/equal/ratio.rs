//! Exact fractions of integers of up to 4,096 bits.

use super::decision::Why;
use num_bigint::{BigInt, Sign};
use std::cmp::Ordering;

/// Most bits of a numerator or denominator.
const BITS: u64 = 4096;

/// A fraction in lowest terms, its denominator positive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ratio {
    over: BigInt,
    under: BigInt,
}

pub(super) fn is_zero(number: &BigInt) -> bool {
    number.sign() == Sign::NoSign
}

fn is_one(number: &BigInt) -> bool {
    number.bits() == 1 && number.sign() == Sign::Plus
}

/// The greatest common divisor of two numbers, of which not both are zero; positive.
pub(super) fn common_divisor(a: &BigInt, b: &BigInt) -> BigInt {
    if let (Ok(a), Ok(b)) = (i64::try_from(a), i64::try_from(b)) {
        let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        return BigInt::from(a);
    }
    let (mut a, mut b) = (BigInt::from(a.magnitude().clone()), BigInt::from(b.magnitude().clone()));
    while !is_zero(&b) {
        let rest = &a % &b;
        (a, b) = (b, rest);
    }
    a
}

/// The power of an integer, within the bound of bits.
pub(super) fn integer_power(base: &BigInt, exponent: u64) -> Result<BigInt, Why> {
    if base.bits() <= 1 {
        let is_negative = base.sign() == Sign::Minus && exponent.is_multiple_of(2);
        return Ok(if is_negative || exponent == 0 { BigInt::from(1) } else { base.clone() });
    }
    if base.bits().saturating_sub(1).saturating_mul(exponent) > BITS {
        return Err(Why::TooLarge);
    }
    let exponent = u32::try_from(exponent).map_err(|_| Why::TooLarge)?;
    Ok(base.pow(exponent))
}

impl Ratio {
    pub(super) fn whole(number: impl Into<BigInt>) -> Self {
        Self { over: number.into(), under: BigInt::from(1) }
    }

    /// `over / under`; an error where `under` is zero, or where either is too large.
    pub(super) fn new(over: BigInt, under: BigInt) -> Result<Self, Why> {
        if is_zero(&under) {
            return Err(Why::Undefined);
        }
        if is_one(&under) {
            return Self { over, under }.bounded();
        }
        let mut divisor = common_divisor(&over, &under);
        if under.sign() == Sign::Minus {
            divisor = -divisor;
        }
        if is_one(&divisor) {
            return Self { over, under }.bounded();
        }
        Self { over: over / &divisor, under: under / &divisor }.bounded()
    }

    /// A number as its digits and a point give it: `12`, `.5`, `3.`.
    pub(super) fn decimal(text: &str) -> Result<Self, Why> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits: String = whole.chars().chain(part.chars()).collect();
        // A digit has 3.3 bits.
        if digits.len() > 1300 {
            return Err(Why::TooLarge);
        }
        let over = digits.parse().map_err(|_| Why::Unread)?;
        Self::new(over, integer_power(&BigInt::from(10), part.len() as u64)?)
    }

    fn bounded(self) -> Result<Self, Why> {
        if self.over.bits() > BITS || self.under.bits() > BITS { Err(Why::TooLarge) } else { Ok(self) }
    }

    pub(super) fn over(&self) -> &BigInt {
        &self.over
    }

    pub(super) fn under(&self) -> &BigInt {
        &self.under
    }

    pub(super) fn is_zero(&self) -> bool {
        is_zero(&self.over)
    }

    pub(super) fn is_one(&self) -> bool {
        is_one(&self.over) && self.is_whole()
    }

    pub(super) fn is_whole(&self) -> bool {
        is_one(&self.under)
    }

    pub(super) fn is_negative(&self) -> bool {
        self.over.sign() == Sign::Minus
    }

    /// Steps that a sum or product with another number counts as: a common divisor takes a division for each two bits or so, a long
    /// one time by the square of its length.
    pub(super) fn steps(&self, other: &Self) -> usize {
        let bits = [&self.over, &self.under, &other.over, &other.under].map(BigInt::bits).iter().sum::<u64>();
        let words = usize::try_from(bits / 64).unwrap_or(usize::MAX);
        let is_whole = self.is_whole() && other.is_whole();
        match () {
            () if is_whole => 1 + words / 8,
            // Both products fit in words of the machine.
            () if words < 2 => 1,
            () => words.saturating_mul(32 + words / 8),
        }
    }

    /// The number, where it is whole and fits.
    pub(super) fn as_small(&self) -> Option<i64> {
        if self.is_whole() { i64::try_from(&self.over).ok() } else { None }
    }

    pub(super) fn plus(&self, other: &Self) -> Result<Self, Why> {
        if self.under == other.under {
            return Self::new(&self.over + &other.over, self.under.clone());
        }
        Self::new(&self.over * &other.under + &other.over * &self.under, &self.under * &other.under)
    }

    pub(super) fn times(&self, other: &Self) -> Result<Self, Why> {
        if self.is_one() {
            return Ok(other.clone());
        }
        if other.is_one() {
            return Ok(self.clone());
        }
        Self::new(&self.over * &other.over, &self.under * &other.under)
    }

    pub(super) fn inverted(&self) -> Result<Self, Why> {
        Self::new(self.under.clone(), self.over.clone())
    }

    pub(super) fn negated(&self) -> Self {
        Self { over: -&self.over, under: self.under.clone() }
    }

    pub(super) fn magnitude(&self) -> Self {
        if self.is_negative() { self.negated() } else { self.clone() }
    }

    pub(super) fn power(&self, exponent: i64) -> Result<Self, Why> {
        let times = exponent.unsigned_abs();
        let power = Self { over: integer_power(&self.over, times)?, under: integer_power(&self.under, times)? };
        if exponent < 0 { power.inverted() } else { power.bounded() }
    }

    /// The greatest whole number that is not greater.
    pub(super) fn floor(&self) -> BigInt {
        let whole = &self.over / &self.under;
        if self.is_negative() && !self.is_whole() { whole - 1 } else { whole }
    }

    pub(super) fn compared(&self, other: &Self) -> Ordering {
        (&self.over * &other.under).cmp(&(&other.over * &self.under))
    }

    /// The nearest double, but for the last bits of long fractions; the same on every machine.
    pub(super) fn to_f64(&self) -> f64 {
        if let (Ok(over), Ok(under)) = (i64::try_from(&self.over), i64::try_from(&self.under)) {
            return over as f64 / under as f64;
        }
        let (over, raised) = leading(&self.over);
        let (under, lowered) = leading(&self.under);
        let quotient = libm::ldexp(over / under, raised - lowered);
        if self.is_negative() { -quotient } else { quotient }
    }
}

/// The magnitude's leading 62 bits, and the power of two that they are multiplied by.
fn leading(number: &BigInt) -> (f64, i32) {
    let dropped = number.bits().saturating_sub(62);
    let bits = u64::try_from(number.magnitude() >> dropped).unwrap_or(u64::MAX);
    (bits as f64, i32::try_from(dropped).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::{Ratio, Why};

    #[test]
    fn decimals_are_exact() {
        let tenths = |number: i64| Ratio::new(number.into(), 10.into()).unwrap();
        assert_eq!(Ratio::decimal("0.30"), Ok(tenths(3)));
        assert_eq!(Ratio::decimal(".5").unwrap().plus(&tenths(5)), Ok(Ratio::whole(1)));
        assert_eq!(tenths(-25).floor(), (-3).into());
        assert_eq!(tenths(-25).power(-2).unwrap().to_f64(), 0.16);
    }

    #[test]
    fn large_numbers_are_refused_before_they_are_made() {
        assert_eq!(Ratio::whole(10).power(10_000_000_000), Err(Why::TooLarge));
        assert_eq!(Ratio::whole(-1).power(10_000_000_001), Ok(Ratio::whole(-1)));
        assert_eq!(Ratio::whole(1).times(&Ratio::whole(0)).unwrap().inverted(), Err(Why::Undefined));
    }

    #[test]
    fn doubles_of_long_fractions_are_near() {
        let third = Ratio::whole(10).power(400).unwrap().times(&Ratio::whole(3).inverted().unwrap()).unwrap();
        let scaled = third.times(&Ratio::whole(10).power(-399).unwrap()).unwrap();
        assert!((scaled.to_f64() - 10.0 / 3.0).abs() < 1e-15);
        assert_eq!(third.to_f64(), f64::INFINITY);
    }
}
