//! The normal form of a formula: a quotient of polynomials over atoms.
//!
//! Symbols are real. Not here: powers (`root`), trigonometry (`angle`), values at points (`numeric`).

use super::algebra::{Algebra, Atom};
use super::decision::Why;
use super::numeric::is_close_to_whole;
use super::polynomial::{Exponent, Monomial, Polynomial, Power, Quotient, Term};
use super::ratio::Ratio;
use super::tree::{Choice, Expr, Function};
use num_bigint::BigInt;

/// Most factors of a binomial coefficient of symbols.
const CHOSEN: i64 = 16;

impl Algebra {
    /// The normal form of a formula.
    pub(super) fn normal(&mut self, expr: &Expr) -> Result<Quotient, Why> {
        self.budget.spend(1)?;
        match expr {
            Expr::Number(number) => Ok(Quotient::number(number.clone())),
            Expr::Symbol(name) => Ok(self.symbol(Atom::Symbol(name.clone()))?.into()),
            Expr::Pi => Ok(self.symbol(Atom::Pi)?.into()),
            Expr::Euler => Ok(self.symbol(Atom::Euler)?.into()),
            Expr::Imaginary => Ok(self.symbol(Atom::Imaginary)?.into()),
            Expr::Degree => Ok(self.symbol(Atom::Pi)?.scaled(&Ratio::whole(180).inverted()?)?.into()),
            Expr::Infinity => Err(Why::Undefined),
            Expr::Sum(terms) => {
                let mut sum = Quotient::whole(0);
                for term in terms {
                    let term = self.normal(term)?;
                    sum = self.plus(&sum, &term)?;
                }
                Ok(sum)
            }
            Expr::Negated(inner) => Ok(self.normal(inner)?.negated()),
            Expr::Percent(inner) => {
                let inner = self.normal(inner)?;
                self.product(&inner, &Quotient::number(Ratio::whole(100).inverted()?))
            }
            Expr::Product(factors) => {
                let mut product = Quotient::whole(1);
                for factor in factors {
                    let value = self.normal(&factor.expr)?;
                    let value = if factor.inverse { self.inverse(&value)? } else { value };
                    product = self.product(&product, &value)?;
                }
                Ok(product)
            }
            Expr::Power(power) => self.power_of(power),
            Expr::Call(function, argument) => self.call(function, argument),
            Expr::Binomial(choice) => self.binomial(choice),
        }
    }

    fn call(&mut self, function: &Function, expr: &Expr) -> Result<Quotient, Why> {
        let argument = self.normal(expr)?;
        match function {
            Function::Sine => Ok(self.angle(&argument)?.sine.into()),
            Function::Cosine => Ok(self.angle(&argument)?.cosine.into()),
            Function::Tangent => {
                let angle = self.angle(&argument)?;
                let under = self.inverse(&angle.cosine.into())?;
                self.product(&angle.sine.into(), &under)
            }
            Function::HyperbolicSine => self.hyperbolic(&argument, true),
            Function::HyperbolicCosine => self.hyperbolic(&argument, false),
            Function::HyperbolicTangent => {
                let under = self.hyperbolic(&argument, false)?;
                let (over, under) = (self.hyperbolic(&argument, true)?, self.inverse(&under)?);
                self.product(&over, &under)
            }
            Function::Logarithm => self.logarithm(&argument),
            Function::Magnitude => self.magnitude(&argument),
            Function::Floor => match self.whole_below(&argument) {
                Some(number) => Ok(Quotient::number(Ratio::whole(number))),
                None => self.opaque_call(function, argument),
            },
            Function::Ceiling => match self.whole_below(&argument.negated()) {
                Some(number) => Ok(Quotient::number(Ratio::whole(-number))),
                None => self.opaque_call(function, argument),
            },
            Function::Factorial => self.factorial(argument),
            Function::ArcSine | Function::ArcCosine | Function::ArcTangent | Function::Named(_) => {
                self.opaque_call(function, argument)
            }
        }
    }

    pub(super) fn opaque_call(&mut self, function: &Function, argument: Quotient) -> Result<Quotient, Why> {
        Ok(self.symbol(Atom::Call(function.clone(), argument))?.into())
    }

    /// `(e^x -+ e^-x) / 2`.
    fn hyperbolic(&mut self, argument: &Quotient, is_sine: bool) -> Result<Quotient, Why> {
        let euler: Quotient = self.symbol(Atom::Euler)?.into();
        let (rising, falling) = (self.power(&euler, argument)?, self.power(&euler, &argument.negated())?);
        let sum = if is_sine { self.minus(&rising, &falling)? } else { self.plus(&rising, &falling)? };
        self.product(&sum, &Quotient::number(Ratio::whole(2).inverted()?))
    }

    fn factorial(&mut self, argument: Quotient) -> Result<Quotient, Why> {
        let Some(number) = argument.as_number().filter(Ratio::is_whole) else {
            return self.opaque_call(&Function::Factorial, argument);
        };
        if number.is_negative() {
            return Err(Why::Undefined);
        }
        let number = number.as_small().ok_or(Why::TooLarge)?;
        let mut product = Ratio::whole(1);
        for factor in 2..=number {
            self.budget.spend(1)?;
            product = product.times(&Ratio::whole(factor))?;
        }
        Ok(Quotient::number(product))
    }

    fn binomial(&mut self, choice: &Choice) -> Result<Quotient, Why> {
        let (all, some) = (self.normal(&choice.all)?, self.normal(&choice.some)?);
        let whole =
            |side: &Quotient| side.as_number().and_then(|number| number.as_small()).filter(|&number| number >= 0);
        if let (Some(all), Some(some)) = (whole(&all), whole(&some)) {
            return Ok(Quotient::number(self.chosen(all, some)?));
        }
        if let Some(some) = whole(&some).filter(|&some| some <= CHOSEN) {
            let mut product = Quotient::whole(1);
            for step in 0..some {
                let factor = self.plus(&all, &Quotient::whole(-step))?;
                let factor = self.product(&factor, &Quotient::number(Ratio::whole(step + 1).inverted()?))?;
                product = self.product(&product, &factor)?;
            }
            return Ok(product);
        }
        let rest = self.minus(&all, &some)?;
        let (all, some, rest) = (self.factorial(all)?, self.factorial(some)?, self.factorial(rest)?);
        let under = self.product(&some, &rest)?;
        let under = self.inverse(&under)?;
        self.product(&all, &under)
    }

    fn chosen(&mut self, all: i64, some: i64) -> Result<Ratio, Why> {
        let mut product = Ratio::whole(1);
        for step in 0..some.min(all - some).max(-1) {
            self.budget.spend(1)?;
            product = product.times(&Ratio::new(BigInt::from(all - step), BigInt::from(step + 1))?)?;
        }
        Ok(if some > all { Ratio::whole(0) } else { product })
    }

    /// The magnitude: of a constant by its sign, of a product by its factors'.
    fn magnitude(&mut self, argument: &Quotient) -> Result<Quotient, Why> {
        if let Some(number) = argument.as_number() {
            return Ok(Quotient::number(number.magnitude()));
        }
        if let Some(value) = self.constant(argument) {
            if value.is_real() && value.size() > 1e3 * value.error {
                return Ok(if value.re < 0.0 { argument.negated() } else { argument.clone() });
            }
            if argument.is_whole() && self.has_plain_imaginary(&argument.over) {
                let conjugate = self.conjugate(&argument.over)?;
                let square = self.times(&argument.over, &conjugate)?;
                return self.root(&square.into(), Exponent { over: 1, under: 2 });
            }
        }
        if !argument.is_whole() {
            return self.opaque_call(&Function::Magnitude, argument.clone());
        }
        if let Some(term) = argument.over.single().cloned() {
            let mut product = Polynomial::number(term.factor.magnitude());
            for power in term.monomial.0 {
                let is_even = power.exponent.is_whole() && power.exponent.over % 2 == 0;
                let is_square = is_even && matches!(self.atom(power.atom), Some(Atom::Symbol(_)));
                let factor = if is_square || self.is_positive(power.atom) {
                    Polynomial::power(power.atom, power.exponent)
                } else {
                    let inner = Polynomial::atom(power.atom).into();
                    Polynomial::power(self.intern(Atom::Call(Function::Magnitude, inner))?, power.exponent)
                };
                product = self.times(&product, &factor)?;
            }
            return Ok(product.into());
        }
        let content = argument.over.content()?;
        let mut primitive = argument.over.scaled(&content.inverted()?)?;
        if primitive.terms().last().is_some_and(|term| term.factor.is_negative()) {
            primitive = primitive.negated();
        }
        let atom = self.symbol(Atom::Call(Function::Magnitude, primitive.into()))?;
        Ok(atom.scaled(&content)?.into())
    }

    fn has_plain_imaginary(&self, polynomial: &Polynomial) -> bool {
        let is_known = |power: &Power| {
            matches!(self.atom(power.atom), Some(Atom::Prime { .. } | Atom::Imaginary | Atom::Pi | Atom::Euler))
        };
        polynomial.powers().all(is_known)
    }

    fn conjugate(&mut self, polynomial: &Polynomial) -> Result<Polynomial, Why> {
        let imaginary = self.intern(Atom::Imaginary)?;
        let flipped = |term: &Term| {
            let is_imaginary = term.monomial.0.iter().any(|power| power.atom == imaginary);
            let factor = if is_imaginary { term.factor.negated() } else { term.factor.clone() };
            Term { monomial: term.monomial.clone(), factor }
        };
        Polynomial::collect(polynomial.terms().iter().map(flipped).collect())
    }

    /// The natural logarithm: positive factors come out, the others stay within.
    fn logarithm(&mut self, argument: &Quotient) -> Result<Quotient, Why> {
        if argument.over.is_zero() {
            return Err(Why::Undefined);
        }
        if !argument.is_whole() {
            return self.opaque_call(&Function::Logarithm, argument.clone());
        }
        let content = argument.over.content()?;
        let mut sum = self.logarithm_of_number(&content)?;
        let primitive = argument.over.scaled(&content.inverted()?)?;
        let Some(term) = primitive.single().cloned() else {
            let rest = self.opaque_call(&Function::Logarithm, primitive.into())?;
            return self.plus(&sum.into(), &rest);
        };
        let mut rest = Vec::new();
        for power in term.monomial.0 {
            let by = Polynomial::number(Ratio::new(power.exponent.over.into(), power.exponent.under.into())?);
            let logarithm = match self.atom(power.atom).cloned() {
                Some(Atom::Euler) => Polynomial::number(Ratio::whole(1)),
                Some(Atom::Exponential { base, exponent }) if self.is_positive(power.atom) => {
                    let base = self.logarithm(&Polynomial::atom(base).into())?.over;
                    self.times(&base, &Polynomial::term(exponent, Ratio::whole(1)))?
                }
                _ if self.is_positive(power.atom) => {
                    self.symbol(Atom::Call(Function::Logarithm, Polynomial::atom(power.atom).into()))?
                }
                _ => {
                    rest.push(power);
                    continue;
                }
            };
            sum = sum.plus(&self.times(&logarithm, &by)?)?;
        }
        if rest.is_empty() && term.factor.is_one() {
            return Ok(sum.into());
        }
        let rest = Polynomial::term(Monomial(rest), term.factor);
        let rest = self.opaque_call(&Function::Logarithm, rest.into())?;
        self.plus(&sum.into(), &rest)
    }

    fn logarithm_of_number(&mut self, number: &Ratio) -> Result<Polynomial, Why> {
        let mut sum = Polynomial::default();
        for (side, sign) in [(number.over(), 1), (number.under(), -1)] {
            for factor in self.factors(side)? {
                let atom = Atom::Call(Function::Logarithm, Polynomial::atom(factor.prime).into());
                let logarithm = self.symbol(atom)?.scaled(&Ratio::whole(factor.times * sign))?;
                sum = sum.plus(&logarithm)?;
            }
        }
        Ok(sum)
    }

    /// The greatest whole number not above a constant; none of one too near to a whole number to say.
    fn whole_below(&self, argument: &Quotient) -> Option<BigInt> {
        if let Some(number) = argument.as_number() {
            return Some(number.floor());
        }
        let value = self.constant(argument).filter(|value| value.is_real() && value.size() < 1e9)?;
        (!is_close_to_whole(value.re) && value.error < 1e-9).then(|| BigInt::from(value.re.floor() as i64))
    }
}
