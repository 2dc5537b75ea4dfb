//! Values of normal forms at twelve fixed points: the last resort where exact rules show neither.
//!
//! Elementary functions are `libm`'s, so that a decision is the same on every machine.

use super::algebra::{Algebra, Atom};
use super::complex::Complex;
use super::decision::{Verdict, Why};
use super::polynomial::{AtomId, Monomial, Polynomial, Quotient};
use super::ratio::Ratio;
use super::tree::Function;

/// Points at which symbols are read: each symbol begins at another one. Real, mostly positive, without a simple relation.
const POINTS: [[f64; 2]; 12] = [
    [37.0, 29.0],
    [-23.0, 31.0],
    [53.0, 41.0],
    [19.0, 47.0],
    [89.0, 43.0],
    [-67.0, 59.0],
    [61.0, 73.0],
    [101.0, 71.0],
    [11.0, 37.0],
    [127.0, 53.0],
    [-13.0, 17.0],
    [83.0, 97.0],
];
/// Points that must be finite on both sides.
const FINITE: usize = 8;
/// Relative difference up to which values are equal, and from which they are not.
const EQUAL: f64 = 1e-9;
const UNEQUAL: f64 = 1e-6;

/// Largest difference that is a rounding error.
const LOST: f64 = 16.0;

/// Returns whether a value is within rounding of a whole number.
pub(super) fn is_close_to_whole(value: f64) -> bool {
    (value - libm::round(value)).abs() <= EQUAL * value.abs().max(1.0)
}

impl Algebra {
    /// The value of a formula without symbols.
    pub(super) fn constant(&self, quotient: &Quotient) -> Option<Complex> {
        let value = Point::new(self, &[], 0).quotient(quotient);
        value.is_finite().then_some(value)
    }

    /// Compares two formulas at all points by their difference, so that what both contain hides nothing.
    pub(super) fn compare_at_points(&mut self, left: &Quotient, right: &Quotient) -> Result<Verdict, Why> {
        let difference = self.minus(left, right)?;
        let names = self.symbols();
        let (mut finite, mut is_close, mut is_beyond) = (0, true, false);
        let points = if names.is_empty() { 1 } else { POINTS.len() };
        self.budget.spend(64 * points)?;
        for index in 0..points {
            let mut point = Point::new(self, &names, index);
            let (a, b) = (point.quotient(left), point.quotient(right));
            let (distance, sum) = point.distance(&difference);
            // Where rounding is coarser than what is compared, the point says nothing.
            if !a.is_finite() || !b.is_finite() || !distance.is_finite() || distance.error > EQUAL * sum {
                continue;
            }
            finite += 1;
            let scale = a.size().max(b.size()).min(sum);
            // Sums that cancel are no more exact than their terms.
            let is_lost = distance.size() <= LOST * distance.error;
            is_close &= is_lost || distance.size() <= EQUAL * scale;
            is_beyond |= !is_lost && distance.size() > UNEQUAL * scale;
        }
        Ok(match () {
            () if finite < FINITE.min(points) => Verdict::Undecided(Why::Unsettled),
            () if is_close => Verdict::EqualNumerically,
            () if is_beyond => Verdict::Unequal,
            () => Verdict::Undecided(Why::Unsettled),
        })
    }
}

/// The values of atoms at one point, each found once.
struct Point<'a> {
    algebra: &'a Algebra,
    names: &'a [String],
    index: usize,
    known: Vec<Option<Complex>>,
}

impl<'a> Point<'a> {
    fn new(algebra: &'a Algebra, names: &'a [String], index: usize) -> Self {
        Self { algebra, names, index, known: Vec::new() }
    }

    fn symbol(&self, name: &String) -> Complex {
        let Ok(at) = self.names.binary_search(name) else { return Complex::NONE };
        let [over, under] = POINTS[(self.index + 5 * at) % POINTS.len()];
        Complex::real(over / under + (at / POINTS.len()) as f64 / 7.0)
    }

    fn quotient(&mut self, quotient: &Quotient) -> Complex {
        self.distance(quotient).0
    }

    /// The value, and the sum of the sizes of its terms.
    fn distance(&mut self, quotient: &Quotient) -> (Complex, f64) {
        let (over, sum) = self.sum(&quotient.over);
        if quotient.is_whole() {
            return (over, sum);
        }
        let under = self.sum(&quotient.under).0.inverted();
        (over.times(under), sum * under.size())
    }

    fn sum(&mut self, polynomial: &Polynomial) -> (Complex, f64) {
        polynomial.terms().iter().fold((Complex::real(0.0), 0.0), |(value, sum), term| {
            let term = Complex::real(term.factor.to_f64()).times(self.product(&term.monomial));
            (value.plus(term), sum + term.size())
        })
    }

    fn product(&mut self, monomial: &Monomial) -> Complex {
        monomial.0.iter().fold(Complex::real(1.0), |product, power| {
            let exponent = f64::from(power.exponent.over) / f64::from(power.exponent.under);
            product.times(raised(self.atom(power.atom), Complex::real(exponent)))
        })
    }

    fn atom(&mut self, id: AtomId) -> Complex {
        let at = id.0 as usize;
        if let Some(Some(value)) = self.known.get(at) {
            return *value;
        }
        let algebra = self.algebra;
        let value = match algebra.atom(id) {
            None => Complex::NONE,
            Some(Atom::Symbol(name)) => self.symbol(name),
            Some(Atom::Prime { number, .. }) => Complex::real(Ratio::whole(number.clone()).to_f64()),
            Some(Atom::Pi) => Complex::real(std::f64::consts::PI),
            Some(Atom::Euler) => Complex::real(std::f64::consts::E),
            Some(Atom::Imaginary) => Complex::IMAGINARY,
            Some(Atom::Radicand(sum)) => self.sum(sum).0,
            Some(Atom::Exponential { base, exponent }) => {
                let exponent = self.product(exponent);
                raised(self.atom(*base), exponent)
            }
            Some(Atom::Call(function, argument)) => called(function, self.quotient(argument)),
            Some(Atom::Opaque(power)) => {
                let [base, exponent] = &**power;
                raised(self.quotient(base), self.quotient(exponent))
            }
        };
        if self.known.len() <= at {
            self.known.resize(at + 1, None);
        }
        self.known[at] = Some(value);
        value
    }
}

/// A power; odd roots of negative numbers are the real ones, as in `root`.
fn raised(value: Complex, by: Complex) -> Complex {
    if value.is_real() && value.re < 0.0 && by.is_real() && by.re != by.re.trunc() {
        let odd = (3..64).step_by(2).find(|&under| is_close_to_whole(by.re * f64::from(under)));
        if let Some(under) = odd {
            let root = value.negated().real_power(by);
            let is_odd = libm::round(by.re * f64::from(under)) % 2.0 != 0.0;
            return if is_odd { root.negated() } else { root };
        }
    }
    value.power(by)
}

fn factorial(value: Complex) -> Complex {
    let factorial = value.mapped(|value| libm::tgamma(value + 1.0), 0.0);
    Complex { error: factorial.size() * (1e-14 + 8.0 * value.error), ..factorial }
}

fn called(function: &Function, value: Complex) -> Complex {
    let steep = 1.0 / libm::sqrt((1.0 - value.re * value.re).max(value.error).max(f64::EPSILON));
    match function {
        Function::Sine => value.sine(),
        Function::Cosine => value.cosine(),
        Function::Tangent => value.sine().times(value.cosine().inverted()),
        Function::ArcSine => value.mapped(libm::asin, steep),
        Function::ArcCosine => value.mapped(libm::acos, steep),
        Function::ArcTangent => value.mapped(libm::atan, 1.0),
        Function::HyperbolicSine => value.mapped(libm::sinh, libm::cosh(value.re)),
        Function::HyperbolicCosine => value.mapped(libm::cosh, libm::cosh(value.re)),
        Function::HyperbolicTangent => value.mapped(libm::tanh, 1.0),
        Function::Logarithm => value.logarithm(),
        Function::Magnitude => Complex { error: value.error, ..Complex::real(value.size()) },
        Function::Floor => value.mapped(libm::floor, 0.0),
        Function::Ceiling => value.mapped(libm::ceil, 0.0),
        Function::Factorial => factorial(value),
        // Any function without a simple relation to others: one of its own for each name.
        Function::Named(name) => {
            let seed = f64::from(name.bytes().map(u32::from).sum::<u32>());
            value.times(Complex::real(seed / 89.0)).plus(Complex::real(seed / 97.0)).sine()
        }
    }
}
