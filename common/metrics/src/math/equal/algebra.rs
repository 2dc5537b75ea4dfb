//! Atoms of the normal form, and what multiplies polynomials over them.
//!
//! An atom is interned once for both sides of a comparison. Three kinds fold when multiplied: a prime's whole powers join
//! the factor, `i^2` is -1, `cos^2` is `1 - sin^2`, and a root's whole powers are its radicand's.

use super::decision::{Budget, Why};
use super::polynomial::{AtomId, Exponent, Monomial, Polynomial, Power, Quotient, Term};
use super::ratio::{Ratio, is_zero};
use super::tree::Function;
use num_bigint::BigInt;

/// Greatest candidate for a factor.
const CANDIDATE: u32 = 4096;
/// Greatest exponent of a sum.
const EXPONENT: u32 = 64;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Atom {
    Symbol(String),
    /// A prime under a root or a logarithm; one that is not `sure` has no factor up to 4,096.
    Prime {
        number: BigInt,
        sure: bool,
    },
    Pi,
    Euler,
    Imaginary,
    /// A sum whose root is taken.
    Radicand(Polynomial),
    /// An atom to the power of a monomial that is not a number.
    Exponential {
        base: AtomId,
        exponent: Monomial,
    },
    Call(Function, Quotient),
    /// Any other power.
    Opaque(Box<[Quotient; 2]>),
}

#[derive(Debug)]
pub(super) struct Algebra {
    atoms: Vec<Atom>,
    pub(super) budget: Budget,
}

/// A prime and how often it divides.
pub(super) struct PrimePower {
    pub(super) prime: AtomId,
    pub(super) times: i32,
}

impl Algebra {
    pub(super) fn new() -> Self {
        Self { atoms: Vec::new(), budget: Budget::new() }
    }

    pub(super) fn atom(&self, id: AtomId) -> Option<&Atom> {
        self.atoms.get(id.0 as usize)
    }

    /// The names of all symbols, sorted.
    pub(super) fn symbols(&self) -> Vec<String> {
        let name = |atom: &Atom| if let Atom::Symbol(name) = atom { Some(name.clone()) } else { None };
        let mut names: Vec<String> = self.atoms.iter().filter_map(name).collect();
        names.sort();
        names
    }

    /// The atom's index, the same for atoms shown equal.
    pub(super) fn intern(&mut self, atom: Atom) -> Result<AtomId, Why> {
        self.budget.spend(self.atoms.len() + 1)?;
        for at in 0..self.atoms.len() {
            let is_same = match (&self.atoms[at], &atom) {
                (Atom::Call(own, mine), Atom::Call(function, theirs)) if own == function => {
                    let (mine, theirs) = (mine.clone(), theirs.clone());
                    self.same(&mine, &theirs)?
                }
                (Atom::Opaque(own), Atom::Opaque(other)) => {
                    let ([base, exponent], [other_base, other_exponent]) = ((**own).clone(), (**other).clone());
                    self.same(&base, &other_base)? && self.same(&exponent, &other_exponent)?
                }
                (own, other) => own == other,
            };
            if is_same {
                return Ok(AtomId(at as u32));
            }
        }
        self.atoms.push(atom);
        Ok(AtomId(self.atoms.len() as u32 - 1))
    }

    pub(super) fn symbol(&mut self, atom: Atom) -> Result<Polynomial, Why> {
        Ok(Polynomial::atom(self.intern(atom)?))
    }

    pub(super) fn times(&mut self, left: &Polynomial, right: &Polynomial) -> Result<Polynomial, Why> {
        self.budget.spend(1)?;
        let mut terms = Vec::with_capacity(left.terms().len() * right.terms().len());
        for a in left.terms() {
            for b in right.terms() {
                self.budget.spend(a.factor.steps(&b.factor) + (a.monomial.0.len() + b.monomial.0.len()) / 4)?;
                let monomial = a.monomial.times(&b.monomial)?;
                self.fold(Term { monomial, factor: a.factor.times(&b.factor)? }, &mut terms)?;
            }
        }
        Polynomial::collect(terms)
    }

    pub(super) fn added(&mut self, left: &Polynomial, right: &Polynomial) -> Result<Polynomial, Why> {
        let longest =
            |side: &Polynomial| side.terms().iter().map(|term| term.factor.steps(&term.factor)).sum::<usize>();
        self.budget.spend(longest(left) + longest(right))?;
        left.plus(right)
    }

    pub(super) fn raised(&mut self, base: &Polynomial, exponent: u32) -> Result<Polynomial, Why> {
        if exponent > EXPONENT {
            return Err(Why::TooLarge);
        }
        let mut power = Polynomial::number(Ratio::whole(1));
        for _ in 0..exponent {
            power = self.times(&power, base)?;
        }
        Ok(power)
    }

    /// A term's power, if it folds to one term; the exponent is not bounded but by the size of numbers.
    pub(super) fn term_raised(&mut self, term: &Term, exponent: i64) -> Result<Polynomial, Why> {
        let by = Exponent::from_ratio(&Ratio::whole(exponent))?;
        let mut terms = Vec::new();
        let term = Term { monomial: term.monomial.raised(by)?, factor: term.factor.power(exponent)? };
        self.fold(term, &mut terms)?;
        Polynomial::collect(terms)
    }

    /// Adds a term to a sum, its foldable atoms folded.
    fn fold(&mut self, term: Term, sum: &mut Vec<Term>) -> Result<(), Why> {
        let needs = |power: &Power| match self.atom(power.atom) {
            Some(Atom::Prime { .. }) => power.exponent.floor() != 0,
            Some(Atom::Imaginary) => power.exponent.is_whole() && power.exponent != Exponent::ONE,
            Some(Atom::Call(Function::Cosine, _)) => power.exponent.floor() >= 2,
            Some(Atom::Radicand(_)) => power.exponent.floor() >= 1,
            _ => false,
        };
        if !term.monomial.0.iter().any(needs) {
            sum.push(term);
            return Ok(());
        }
        self.budget.enter()?;
        let Term { monomial, mut factor } = term;
        let mut plain = Vec::with_capacity(monomial.0.len());
        let mut others: Vec<Polynomial> = Vec::new();
        for power in monomial.0 {
            let (floor, rest) = (power.exponent.floor(), power.exponent.fraction());
            match self.atom(power.atom).cloned() {
                Some(Atom::Prime { number, .. }) if floor != 0 => {
                    factor = factor.times(&Ratio::whole(number).power(i64::from(floor))?)?;
                    if rest.over != 0 {
                        plain.push(Power { exponent: rest, ..power });
                    }
                }
                Some(Atom::Imaginary) if power.exponent.is_whole() => {
                    if matches!(floor.rem_euclid(4), 2 | 3) {
                        factor = factor.negated();
                    }
                    if floor.rem_euclid(2) == 1 {
                        plain.push(Power { exponent: Exponent::ONE, ..power });
                    }
                }
                Some(Atom::Call(Function::Cosine, argument)) if floor >= 2 => {
                    let sine = self.intern(Atom::Call(Function::Sine, argument))?;
                    let square = Polynomial::power(sine, Exponent { over: 2, under: 1 });
                    let rule = Polynomial::number(Ratio::whole(1)).plus(&square.negated())?;
                    let pairs = u32::try_from(floor / 2).map_err(|_| Why::TooLarge)?;
                    others.push(self.raised(&rule, pairs)?);
                    let left = power.exponent.plus(Exponent { over: -(floor / 2 * 2), under: 1 })?;
                    others.push(Polynomial::power(power.atom, left));
                }
                Some(Atom::Radicand(radicand)) if floor >= 1 => {
                    others.push(self.raised(&radicand, u32::try_from(floor).map_err(|_| Why::TooLarge)?)?);
                    others.push(Polynomial::power(power.atom, rest));
                }
                _ => plain.push(power),
            }
        }
        let mut product = Polynomial::term(Monomial(plain), factor);
        for other in &others {
            product = self.times(&product, other)?;
        }
        sum.extend(product.terms().iter().cloned());
        self.budget.leave();
        Ok(())
    }

    /// Returns whether a polynomial is shown to be zero, once negative powers of foldable atoms are multiplied away.
    pub(super) fn is_zero(&mut self, polynomial: &Polynomial) -> Result<bool, Why> {
        let mut cleared = polynomial.clone();
        for _ in 0..8 {
            if cleared.is_zero() {
                return Ok(true);
            }
            let folds = |power: &&Power| {
                let is_foldable =
                    matches!(self.atom(power.atom), Some(Atom::Call(Function::Cosine, _) | Atom::Radicand(_)));
                is_foldable && power.exponent.over < 0
            };
            let Some(lowest) = cleared.powers().filter(folds).min_by_key(|power| power.exponent.floor()).copied()
            else {
                return Ok(false);
            };
            let by = Exponent { over: lowest.exponent.floor().checked_neg().ok_or(Why::TooLarge)?, under: 1 };
            cleared = self.times(&cleared, &Polynomial::power(lowest.atom, by))?;
        }
        Ok(false)
    }

    /// Returns whether atoms are independent of each other, so that only the zero polynomial over them is zero.
    ///
    /// Roots of different primes are (Besicovitch 1940). Of pi and e together it is not known.
    pub(super) fn is_independent(&self, polynomial: &Polynomial) -> bool {
        let (mut pi, mut euler) = (false, false);
        for power in polynomial.powers() {
            match self.atom(power.atom) {
                Some(Atom::Symbol(_) | Atom::Prime { sure: true, .. }) => {}
                Some(Atom::Imaginary) if power.exponent.is_whole() => {}
                Some(Atom::Pi) => pi = true,
                Some(Atom::Euler) => euler = true,
                _ => return false,
            }
        }
        !(pi && euler)
    }

    /// Returns whether an atom is a positive number for all values of the symbols.
    pub(super) fn is_positive(&self, id: AtomId) -> bool {
        match self.atom(id) {
            Some(Atom::Prime { .. } | Atom::Pi | Atom::Euler | Atom::Call(Function::Magnitude, _)) => true,
            Some(Atom::Exponential { base, exponent }) => self.is_positive(*base) && self.is_real(exponent),
            Some(Atom::Call(Function::Logarithm, argument)) => {
                argument.as_number().is_some_and(|number| number.compared(&Ratio::whole(1)).is_gt())
            }
            _ => false,
        }
    }

    fn is_real(&self, monomial: &Monomial) -> bool {
        let is_real = |power: &Power| match self.atom(power.atom) {
            Some(Atom::Symbol(_)) => power.exponent.is_whole(),
            _ => self.is_positive(power.atom),
        };
        monomial.0.iter().all(is_real)
    }

    /// The factors of a positive number, in ascending order.
    pub(super) fn factors(&mut self, number: &BigInt) -> Result<Vec<PrimePower>, Why> {
        let mut rest = number.clone();
        let mut factors = Vec::new();
        let mut candidate = 2_u32;
        while candidate <= CANDIDATE && BigInt::from(candidate * candidate) <= rest {
            self.budget.spend(1 + usize::try_from(rest.bits() / 256).unwrap_or(0))?;
            let mut times = 0;
            while is_zero(&(&rest % candidate)) {
                rest /= candidate;
                times += 1;
            }
            if times > 0 {
                factors.push(PrimePower { prime: self.prime(BigInt::from(candidate), true)?, times });
            }
            candidate += if candidate == 2 { 1 } else { 2 };
        }
        if rest.bits() <= 1 {
            return Ok(factors);
        }
        let is_sure = rest < BigInt::from(CANDIDATE * CANDIDATE);
        let root = if is_sure { BigInt::from(0) } else { rest.sqrt() };
        let is_square = !is_sure && &root * &root == rest;
        let (prime, times) = if is_square { (root, 2) } else { (rest, 1) };
        let is_sure = prime < BigInt::from(CANDIDATE * CANDIDATE);
        factors.push(PrimePower { prime: self.prime(prime, is_sure)?, times });
        Ok(factors)
    }

    fn prime(&mut self, number: BigInt, sure: bool) -> Result<AtomId, Why> {
        self.intern(Atom::Prime { number, sure })
    }
}
