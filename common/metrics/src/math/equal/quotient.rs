//! Arithmetic of quotients, and their comparison by cross products.

use super::algebra::Algebra;
use super::decision::Why;
use super::polynomial::{Polynomial, Quotient};

impl Algebra {
    fn divided(&mut self, over: Polynomial, under: Polynomial) -> Result<Quotient, Why> {
        if under.is_zero() {
            return Err(Why::Undefined);
        }
        if let Some(term) = under.single() {
            let inverse = self.term_raised(&term.clone(), -1)?;
            return Ok(self.times(&over, &inverse)?.into());
        }
        if over == under {
            return Ok(Quotient::whole(1));
        }
        Ok(Quotient { over, under })
    }

    pub(super) fn plus(&mut self, left: &Quotient, right: &Quotient) -> Result<Quotient, Why> {
        if left.under == right.under {
            let over = self.added(&left.over, &right.over)?;
            return if left.is_whole() { Ok(over.into()) } else { self.divided(over, left.under.clone()) };
        }
        let (one, other) = (self.times(&left.over, &right.under)?, self.times(&right.over, &left.under)?);
        let over = self.added(&one, &other)?;
        let under = self.times(&left.under, &right.under)?;
        self.divided(over, under)
    }

    pub(super) fn minus(&mut self, left: &Quotient, right: &Quotient) -> Result<Quotient, Why> {
        self.plus(left, &right.negated())
    }

    pub(super) fn product(&mut self, left: &Quotient, right: &Quotient) -> Result<Quotient, Why> {
        let over = self.times(&left.over, &right.over)?;
        if left.is_whole() && right.is_whole() {
            return Ok(over.into());
        }
        let under = self.times(&left.under, &right.under)?;
        self.divided(over, under)
    }

    pub(super) fn inverse(&mut self, quotient: &Quotient) -> Result<Quotient, Why> {
        if self.is_zero(&quotient.over.clone())? {
            return Err(Why::Undefined);
        }
        self.divided(quotient.under.clone(), quotient.over.clone())
    }

    /// A power with a whole exponent; that of a sum is bounded.
    pub(super) fn whole_power(&mut self, base: &Quotient, exponent: i64) -> Result<Quotient, Why> {
        if exponent < 0 {
            let inverse = self.inverse(base)?;
            return self.whole_power(&inverse, exponent.checked_neg().ok_or(Why::TooLarge)?);
        }
        if base.over.is_zero() {
            return Ok(Quotient::whole(i64::from(exponent == 0)));
        }
        if base.is_whole()
            && let Some(term) = base.over.single()
        {
            return Ok(self.term_raised(&term.clone(), exponent)?.into());
        }
        let times = u32::try_from(exponent).map_err(|_| Why::TooLarge)?;
        let over = self.raised(&base.over, times)?;
        let under = if base.is_whole() { base.under.clone() } else { self.raised(&base.under, times)? };
        self.divided(over, under)
    }

    /// The difference of the cross products, which is zero where the quotients are equal.
    pub(super) fn difference(&mut self, left: &Quotient, right: &Quotient) -> Result<Polynomial, Why> {
        if left.under == right.under {
            return self.added(&left.over, &right.over.negated());
        }
        let (one, other) = (self.times(&left.over, &right.under)?, self.times(&right.over, &left.under)?);
        self.added(&one, &other.negated())
    }

    /// Returns whether two quotients are shown equal.
    pub(super) fn same(&mut self, left: &Quotient, right: &Quotient) -> Result<bool, Why> {
        if left == right {
            return Ok(true);
        }
        let difference = self.difference(left, right)?;
        self.is_zero(&difference)
    }
}
