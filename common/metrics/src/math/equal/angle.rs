//! Sine and cosine of a normal form: sums of angles, multiples, and the twelfths of a half turn.

use super::algebra::{Algebra, Atom};
use super::decision::Why;
use super::polynomial::{Exponent, Monomial, Polynomial, Quotient, Term};
use super::ratio::Ratio;
use super::tree::Function;
use num_bigint::BigInt;

/// Greatest multiple of an angle that is taken apart, and most summands.
const MULTIPLE: i64 = 8;
const SUMMANDS: usize = 4;

#[derive(Clone, Debug)]
pub(super) struct Angle {
    pub(super) sine: Polynomial,
    pub(super) cosine: Polynomial,
}

impl Angle {
    fn zero() -> Self {
        Self { sine: Polynomial::default(), cosine: Polynomial::number(Ratio::whole(1)) }
    }

    fn negated(self) -> Self {
        Self { sine: self.sine.negated(), ..self }
    }
}

impl Algebra {
    /// Sine and cosine of an argument.
    pub(super) fn angle(&mut self, argument: &Quotient) -> Result<Angle, Why> {
        if !argument.is_whole() || argument.over.terms().len() > SUMMANDS {
            let is_negative = argument.over.terms().last().is_some_and(|term| term.factor.is_negative());
            let angle = self.opaque_angle(if is_negative { argument.negated() } else { argument.clone() })?;
            return Ok(if is_negative { angle.negated() } else { angle });
        }
        let mut sum = Angle::zero();
        for term in argument.over.terms() {
            let angle = self.summand(term)?;
            sum = self.turned(&sum, &angle)?;
        }
        Ok(sum)
    }

    fn opaque_angle(&mut self, argument: Quotient) -> Result<Angle, Why> {
        let sine = self.symbol(Atom::Call(Function::Sine, argument.clone()))?;
        Ok(Angle { sine, cosine: self.symbol(Atom::Call(Function::Cosine, argument))? })
    }

    /// The angle of the sum of two.
    fn turned(&mut self, left: &Angle, right: &Angle) -> Result<Angle, Why> {
        let (ss, cc) = (self.times(&left.sine, &right.sine)?, self.times(&left.cosine, &right.cosine)?);
        let (sc, cs) = (self.times(&left.sine, &right.cosine)?, self.times(&left.cosine, &right.sine)?);
        Ok(Angle { sine: sc.plus(&cs)?, cosine: cc.plus(&ss.negated())? })
    }

    fn summand(&mut self, term: &Term) -> Result<Angle, Why> {
        let pi = self.intern(Atom::Pi)?;
        if let [power] = term.monomial.0[..]
            && power.atom == pi
            && power.exponent == Exponent::ONE
        {
            return self.half_turns(&term.factor);
        }
        let magnitude = term.factor.magnitude();
        let unit = Ratio::new(BigInt::from(1), magnitude.under().clone())?;
        let times = i64::try_from(magnitude.over()).ok().filter(|&times| times <= MULTIPLE);
        let base = Polynomial::term(term.monomial.clone(), if times.is_some() { unit } else { magnitude });
        let base = self.opaque_angle(base.into())?;
        let mut angle = base.clone();
        for _ in 1..times.unwrap_or(1) {
            angle = self.turned(&angle, &base)?;
        }
        Ok(if term.factor.is_negative() { angle.negated() } else { angle })
    }

    /// The angle of a multiple of pi: exact at the twelfths, else within the first quarter.
    fn half_turns(&mut self, factor: &Ratio) -> Result<Angle, Why> {
        let half = Ratio::new(BigInt::from(1), BigInt::from(2))?;
        let turns = Ratio::whole(factor.times(&half)?.floor()).times(&Ratio::whole(-2))?;
        let mut rest = factor.plus(&turns)?;
        let (mut sine_sign, mut cosine_sign) = (false, false);
        if rest.compared(&Ratio::whole(1)).is_ge() {
            rest = rest.plus(&Ratio::whole(-1))?;
            (sine_sign, cosine_sign) = (true, true);
        }
        if rest.compared(&half).is_gt() {
            rest = Ratio::whole(1).plus(&rest.negated())?;
            cosine_sign = !cosine_sign;
        }
        let twelfths = rest.times(&Ratio::whole(12))?;
        let angle = match twelfths.as_small() {
            Some(twelfths) => Angle { sine: self.twelfth(twelfths)?, cosine: self.twelfth(6 - twelfths)? },
            None => {
                let pi = self.symbol(Atom::Pi)?;
                self.opaque_angle(pi.scaled(&rest)?.into())?
            }
        };
        Ok(Angle {
            sine: if sine_sign { angle.sine.negated() } else { angle.sine },
            cosine: if cosine_sign { angle.cosine.negated() } else { angle.cosine },
        })
    }

    /// The sine of 0 to 6 twelfths of pi.
    fn twelfth(&mut self, twelfths: i64) -> Result<Polynomial, Why> {
        let half = Exponent { over: 1, under: 2 };
        let mut root = |number: i64| -> Result<Polynomial, Why> {
            let mut powers = Monomial::default();
            for factor in self.factors(&BigInt::from(number))? {
                let root = Polynomial::power(factor.prime, half);
                powers = powers.times(root.single().map_or(&Monomial::default(), |term| &term.monomial))?;
            }
            Ok(Polynomial::term(powers, Ratio::whole(1)))
        };
        let (sum, under) = match twelfths {
            0 => (Polynomial::default(), 1),
            1 => (root(6)?.plus(&root(2)?.negated())?, 4),
            2 => (Polynomial::number(Ratio::whole(1)), 2),
            3 => (root(2)?, 2),
            4 => (root(3)?, 2),
            5 => (root(6)?.plus(&root(2)?)?, 4),
            _ => (Polynomial::number(Ratio::whole(1)), 1),
        };
        sum.scaled(&Ratio::whole(under).inverted()?)
    }
}
