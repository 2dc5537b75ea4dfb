//! Sums of products of atoms with rational exponents and rational factors, and quotients of these.
//!
//! Sorted by monomial, none of the factors zero: two polynomials over independent atoms are equal exactly if they are the
//! same. Nothing here knows what an atom stands for; `algebra` multiplies.

use super::decision::Why;
use super::ratio::{Ratio, common_divisor};
use num_bigint::BigInt;

/// Most terms.
const TERMS: usize = 256;

/// The index of an atom in an `Algebra`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AtomId(pub(super) u32);

/// A small fraction in lowest terms, its denominator positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Exponent {
    pub(super) over: i32,
    pub(super) under: i32,
}

impl Exponent {
    pub(super) const ONE: Self = Self { over: 1, under: 1 };

    fn new(over: i64, under: i64) -> Result<Self, Why> {
        let (mut a, mut b) = (over.unsigned_abs(), under.unsigned_abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let divisor = i64::try_from(a.max(1)).map_err(|_| Why::TooLarge)?;
        let small = |number: i64| i32::try_from(number / divisor).map_err(|_| Why::TooLarge);
        Ok(Self { over: small(over)?, under: small(under)? })
    }

    pub(super) fn from_ratio(ratio: &Ratio) -> Result<Self, Why> {
        let small = |number: &BigInt| i32::try_from(number).map_err(|_| Why::TooLarge);
        Ok(Self { over: small(ratio.over())?, under: small(ratio.under())? })
    }

    pub(super) fn plus(self, other: Self) -> Result<Self, Why> {
        let (a, b) = (i64::from(self.under), i64::from(other.under));
        Self::new(i64::from(self.over) * b + i64::from(other.over) * a, a * b)
    }

    pub(super) fn times(self, other: Self) -> Result<Self, Why> {
        Self::new(i64::from(self.over) * i64::from(other.over), i64::from(self.under) * i64::from(other.under))
    }

    pub(super) fn is_whole(self) -> bool {
        self.under == 1
    }

    pub(super) fn floor(self) -> i32 {
        self.over.div_euclid(self.under)
    }

    /// The part above the floor.
    pub(super) fn fraction(self) -> Self {
        Self { over: self.over.rem_euclid(self.under), under: self.under }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Power {
    pub(super) atom: AtomId,
    pub(super) exponent: Exponent,
}

/// A product of atoms, sorted, no exponent zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Monomial(pub(super) Vec<Power>);

impl Monomial {
    pub(super) fn times(&self, other: &Self) -> Result<Self, Why> {
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut powers = Vec::with_capacity(self.0.len() + other.0.len());
        loop {
            match (left.peek(), right.peek()) {
                (Some(a), Some(b)) if a.atom == b.atom => {
                    let exponent = a.exponent.plus(b.exponent)?;
                    if exponent.over != 0 {
                        powers.push(Power { atom: a.atom, exponent });
                    }
                    left.next();
                    right.next();
                }
                (Some(a), Some(b)) if a.atom > b.atom => powers.extend(right.next()),
                (Some(_), _) => powers.extend(left.next()),
                (None, Some(_)) => powers.extend(right.next()),
                (None, None) => return Ok(Self(powers)),
            }
        }
    }

    pub(super) fn raised(&self, by: Exponent) -> Result<Self, Why> {
        let powers = self.0.iter().map(|power| Ok(Power { exponent: power.exponent.times(by)?, ..*power }));
        powers.collect::<Result<_, _>>().map(Self)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) monomial: Monomial,
    pub(super) factor: Ratio,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Polynomial(Vec<Term>);

impl Polynomial {
    pub(super) fn number(number: Ratio) -> Self {
        Self::term(Monomial::default(), number)
    }

    pub(super) fn atom(atom: AtomId) -> Self {
        Self::power(atom, Exponent::ONE)
    }

    pub(super) fn power(atom: AtomId, exponent: Exponent) -> Self {
        let powers = if exponent.over == 0 { Vec::new() } else { vec![Power { atom, exponent }] };
        Self::term(Monomial(powers), Ratio::whole(1))
    }

    pub(super) fn term(monomial: Monomial, factor: Ratio) -> Self {
        Self(if factor.is_zero() { Vec::new() } else { vec![Term { monomial, factor }] })
    }

    /// The sum of terms in any order.
    pub(super) fn collect(mut terms: Vec<Term>) -> Result<Self, Why> {
        terms.sort_by(|a, b| a.monomial.cmp(&b.monomial));
        let mut sum: Vec<Term> = Vec::with_capacity(terms.len());
        for term in terms {
            match sum.last_mut() {
                Some(last) if last.monomial == term.monomial => {
                    last.factor = last.factor.plus(&term.factor)?;
                    if last.factor.is_zero() {
                        sum.pop();
                    }
                }
                _ => sum.push(term),
            }
        }
        if sum.len() > TERMS { Err(Why::TooManyTerms) } else { Ok(Self(sum)) }
    }

    pub(super) fn terms(&self) -> &[Term] {
        &self.0
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// The number, where it is one.
    pub(super) fn as_number(&self) -> Option<Ratio> {
        match self.0.as_slice() {
            [] => Some(Ratio::whole(0)),
            [term] if term.monomial.0.is_empty() => Some(term.factor.clone()),
            _ => None,
        }
    }

    /// The only term, where it has one.
    pub(super) fn single(&self) -> Option<&Term> {
        if let [term] = self.0.as_slice() { Some(term) } else { None }
    }

    pub(super) fn plus(&self, other: &Self) -> Result<Self, Why> {
        Self::collect(self.0.iter().chain(&other.0).cloned().collect())
    }

    pub(super) fn negated(&self) -> Self {
        let negated = |term: &Term| Term { monomial: term.monomial.clone(), factor: term.factor.negated() };
        Self(self.0.iter().map(negated).collect())
    }

    pub(super) fn scaled(&self, by: &Ratio) -> Result<Self, Why> {
        if by.is_zero() {
            return Ok(Self::default());
        }
        let scaled = |term: &Term| Ok(Term { monomial: term.monomial.clone(), factor: term.factor.times(by)? });
        self.0.iter().map(scaled).collect::<Result<_, _>>().map(Self)
    }

    /// The positive rational that leaves whole factors without a common divisor when divided by; 1 of zero.
    pub(super) fn content(&self) -> Result<Ratio, Why> {
        let Some(first) = self.0.first() else { return Ok(Ratio::whole(1)) };
        let (mut over, mut under) =
            (BigInt::from(first.factor.over().magnitude().clone()), first.factor.under().clone());
        for term in &self.0[1..] {
            over = common_divisor(&over, term.factor.over());
            let divisor = common_divisor(&under, term.factor.under());
            under = under / divisor * term.factor.under();
        }
        Ratio::new(over, under)
    }

    /// The constant by which `other` is multiplied to give this; none where there is no constant, or either is zero.
    pub(super) fn proportion(&self, other: &Self) -> Result<Option<Ratio>, Why> {
        let (Some(own), Some(theirs)) = (self.0.first(), other.0.first()) else { return Ok(None) };
        let by = own.factor.times(&theirs.factor.inverted()?)?;
        Ok((other.scaled(&by)? == *self).then_some(by))
    }

    /// Every atom with an exponent.
    pub(super) fn powers(&self) -> impl Iterator<Item = &Power> {
        self.0.iter().flat_map(|term| &term.monomial.0)
    }
}

/// A quotient whose lower side is not zero. A single term below the line is multiplied into the upper side.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Quotient {
    pub(super) over: Polynomial,
    pub(super) under: Polynomial,
}

impl Quotient {
    pub(super) fn number(number: Ratio) -> Self {
        Polynomial::number(number).into()
    }

    pub(super) fn whole(number: i64) -> Self {
        Self::number(Ratio::whole(number))
    }

    /// The number, where it is one.
    pub(super) fn as_number(&self) -> Option<Ratio> {
        if self.is_whole() { self.over.as_number() } else { None }
    }

    /// Returns whether nothing stands below the line.
    pub(super) fn is_whole(&self) -> bool {
        self.under.as_number().is_some_and(|number| number.is_one())
    }

    pub(super) fn negated(&self) -> Self {
        Self { over: self.over.negated(), under: self.under.clone() }
    }
}

impl From<Polynomial> for Quotient {
    fn from(over: Polynomial) -> Self {
        Self { over, under: Polynomial::number(Ratio::whole(1)) }
    }
}
