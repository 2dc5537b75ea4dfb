//! Powers: whole ones, roots, and those with symbols in the exponent.

use super::algebra::{Algebra, Atom};
use super::decision::Why;
use super::polynomial::{Exponent, Monomial, Polynomial, Power, Quotient, Term};
use super::ratio::Ratio;
use super::tree::{self, Expr, Function};

impl Algebra {
    /// A power as it is written: the square root of a square is a magnitude.
    pub(super) fn power_of(&mut self, power: &tree::Power) -> Result<Quotient, Why> {
        let exponent = self.normal(&power.exponent)?;
        if let (Some(outer), Expr::Power(inner)) = (exponent.as_number(), &power.base)
            && i64::try_from(outer.under()).is_ok_and(|under| under == 2)
            && let Expr::Number(number) = &inner.exponent
            && number.as_small().is_some_and(|number| number % 2 == 0)
        {
            let base = self.normal(&Expr::call(Function::Magnitude, inner.base.clone()))?;
            return self.power(&base, &Quotient::number(number.times(&outer)?));
        }
        let base = self.normal(&power.base)?;
        self.power(&base, &exponent)
    }

    pub(super) fn power(&mut self, base: &Quotient, exponent: &Quotient) -> Result<Quotient, Why> {
        if let Some(number) = exponent.as_number() {
            return self.number_power(base, &number);
        }
        if base.as_number().is_some_and(|number| number.is_one()) {
            return Ok(Quotient::whole(1));
        }
        if !exponent.is_whole() || base.over.is_zero() {
            return self.opaque_power(base, exponent);
        }
        let mut product = Quotient::whole(1);
        let mut turned: Vec<Term> = Vec::new();
        let imaginary = self.intern(Atom::Imaginary)?;
        let euler = self.symbol(Atom::Euler)?;
        let is_euler = base.is_whole() && base.over == euler;
        for term in exponent.over.terms() {
            let factor = if term.monomial.0.is_empty() {
                self.number_power(base, &term.factor)?
            } else if is_euler && term.monomial.0.iter().any(|power| power.atom == imaginary) {
                turned.push(term.clone());
                continue;
            } else {
                self.term_power(base, term)?
            };
            product = self.product(&product, &factor)?;
        }
        if turned.is_empty() {
            return Ok(product);
        }
        // Euler: e^(iu) = cos u + i sin u.
        let back = Polynomial::power(imaginary, Exponent { over: -1, under: 1 });
        let angle = self.times(&Polynomial::collect(turned)?, &back)?;
        let angle = self.angle(&angle.into())?;
        let sine = self.times(&angle.sine, &Polynomial::atom(imaginary))?;
        self.product(&product, &angle.cosine.plus(&sine)?.into())
    }

    fn number_power(&mut self, base: &Quotient, exponent: &Ratio) -> Result<Quotient, Why> {
        if exponent.is_whole() {
            let small = exponent.as_small();
            if small.is_none() && base.as_number().is_some_and(|base| base.is_one()) {
                return Ok(Quotient::whole(1));
            }
            return self.whole_power(base, small.ok_or(Why::TooLarge)?);
        }
        self.root(base, Exponent::from_ratio(exponent)?)
    }

    fn opaque_power(&mut self, base: &Quotient, exponent: &Quotient) -> Result<Quotient, Why> {
        Ok(self.symbol(Atom::Opaque(Box::new([base.clone(), exponent.clone()])))?.into())
    }

    /// `base^(factor * monomial)`, the monomial not a number.
    fn term_power(&mut self, base: &Quotient, term: &Term) -> Result<Quotient, Why> {
        let by = Exponent::from_ratio(&term.factor)?;
        let positive = base.as_number().filter(|number| !number.is_negative() && !number.is_zero());
        if let Some(number) = positive {
            let mut product = Polynomial::number(Ratio::whole(1));
            for (side, sign) in [(number.over(), 1), (number.under(), -1)] {
                for factor in self.factors(side)? {
                    let times = by.times(Exponent { over: factor.times * sign, under: 1 })?;
                    let atom = Atom::Exponential { base: factor.prime, exponent: term.monomial.clone() };
                    let power = Polynomial::power(self.intern(atom)?, times);
                    product = self.times(&product, &power)?;
                }
            }
            return Ok(product.into());
        }
        if base.is_whole()
            && let Some(single) = base.over.single()
            && let [Power { atom, exponent: Exponent::ONE }] = single.monomial.0[..]
            && single.factor.is_one()
            && (by.is_whole() || self.is_positive(atom))
        {
            let atom = self.intern(Atom::Exponential { base: atom, exponent: term.monomial.clone() })?;
            return Ok(Polynomial::power(atom, by).into());
        }
        if by.is_whole() {
            let monomial = Polynomial::term(term.monomial.clone(), Ratio::whole(1)).into();
            let power = self.opaque_power(base, &monomial)?;
            return self.whole_power(&power, i64::from(by.over));
        }
        self.opaque_power(base, &Polynomial::term(term.monomial.clone(), term.factor.clone()).into())
    }

    /// A power whose exponent is a fraction. Odd roots of negative numbers are the real ones.
    pub(super) fn root(&mut self, base: &Quotient, exponent: Exponent) -> Result<Quotient, Why> {
        if base.over.is_zero() {
            return if exponent.over > 0 { Ok(Quotient::whole(0)) } else { Err(Why::Undefined) };
        }
        let ratio = Ratio::new(exponent.over.into(), exponent.under.into())?;
        if !base.is_whole() {
            return self.opaque_power(base, &Quotient::number(ratio));
        }
        let Some(term) = base.over.single().cloned() else {
            let content = base.over.content()?;
            let primitive = base.over.scaled(&content.inverted()?)?;
            let radicand = self.intern(Atom::Radicand(primitive))?;
            let folded = self.times(&Polynomial::power(radicand, exponent), &Polynomial::number(Ratio::whole(1)))?;
            let outside = self.root_of_number(&content, exponent)?;
            return Ok(self.times(&outside, &folded)?.into());
        };
        let mut product = self.root_of_number(&term.factor.magnitude(), exponent)?;
        let is_odd = exponent.under % 2 == 1;
        let mut inside: Vec<Power> = Vec::new();
        for power in term.monomial.0 {
            let is_symbol = matches!(self.atom(power.atom), Some(Atom::Symbol(_)));
            let is_even = power.exponent.is_whole() && power.exponent.over % 2 == 0;
            let outside = if self.is_positive(power.atom) || (is_symbol && is_odd && power.exponent.is_whole()) {
                power.atom
            } else if is_symbol && is_even {
                self.intern(Atom::Call(Function::Magnitude, Polynomial::atom(power.atom).into()))?
            } else {
                inside.push(power);
                continue;
            };
            let power = Polynomial::power(outside, power.exponent.times(exponent)?);
            product = self.times(&product, &power)?;
        }
        let inner = match (term.factor.is_negative(), inside.as_slice()) {
            (false, []) => return Ok(product.into()),
            (true, []) if is_odd => {
                return Ok(if exponent.over % 2 == 0 { product.into() } else { product.negated().into() });
            }
            (true, []) if exponent.under == 2 => {
                let imaginary = self.symbol(Atom::Imaginary)?.into();
                let turn = self.whole_power(&imaginary, i64::from(exponent.over))?;
                return self.product(&product.into(), &turn);
            }
            (false, [Power { atom, exponent: Exponent::ONE }])
                if matches!(self.atom(*atom), Some(Atom::Symbol(_) | Atom::Call(..))) =>
            {
                let power = Polynomial::power(*atom, exponent);
                return Ok(self.times(&product, &power)?.into());
            }
            (is_negative, _) => Polynomial::term(Monomial(inside), Ratio::whole(if is_negative { -1 } else { 1 })),
        };
        let inner = self.opaque_power(&inner.into(), &Quotient::number(ratio))?;
        self.product(&product.into(), &inner)
    }

    /// A root of a positive number, as roots of primes.
    fn root_of_number(&mut self, number: &Ratio, exponent: Exponent) -> Result<Polynomial, Why> {
        let mut product = Polynomial::number(Ratio::whole(1));
        for (side, sign) in [(number.over(), 1), (number.under(), -1)] {
            for factor in self.factors(side)? {
                let times = exponent.times(Exponent { over: factor.times * sign, under: 1 })?;
                product = self.times(&product, &Polynomial::power(factor.prime, times))?;
            }
        }
        Ok(product)
    }
}
