//! Values of formulas at twelve fixed points: the last resort where exact rules show neither.
//!
//! Elementary functions are `libm`'s, so that a decision is the same on every machine.

use super::complex::Complex;
use super::decision::{Budget, Verdict, Why};
use super::tree::{Expr, Function};

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

/// Returns whether a value is within rounding of a whole number.
pub(super) fn is_close_to_whole(value: f64) -> bool {
    (value - libm::round(value)).abs() <= EQUAL * value.abs().max(1.0)
}

/// The symbols of a comparison, sorted.
pub(super) struct Points {
    names: Vec<String>,
}

impl Points {
    pub(super) fn new(exprs: &[&Expr]) -> Self {
        let mut names = Vec::new();
        exprs.iter().for_each(|expr| expr.symbols(&mut names));
        names.sort();
        names.dedup();
        Self { names }
    }

    /// The value of a formula without symbols.
    pub(super) fn constant(expr: &Expr) -> Option<Complex> {
        let points = Self::new(&[expr]);
        if !points.names.is_empty() {
            return None;
        }
        Some(points.value(expr, 0)).filter(|value| value.is_finite())
    }

    /// Compares two formulas at all points.
    pub(super) fn compare(&self, left: &Expr, right: &Expr, budget: &mut Budget) -> Verdict {
        let mut finite = 0;
        let (mut is_close, mut is_beyond) = (true, false);
        for point in 0..if self.names.is_empty() { 1 } else { POINTS.len() } {
            if let Err(why) = budget.spend(64) {
                return Verdict::Undecided(why);
            }
            let (a, b) = (self.value(left, point), self.value(right, point));
            if !a.is_finite() || !b.is_finite() {
                continue;
            }
            finite += 1;
            let scale = a.size().max(b.size());
            let difference = a.plus(b.negated());
            // Sums that cancel are no more exact than their terms.
            let is_lost = difference.size() <= 16.0 * difference.error;
            is_close &= difference.size() <= EQUAL * scale || is_lost;
            is_beyond |= difference.size() > UNEQUAL * scale && !is_lost;
        }
        let enough = if self.names.is_empty() { 1 } else { FINITE };
        match () {
            () if finite < enough => Verdict::Undecided(Why::Unsettled),
            () if is_close => Verdict::EqualNumerically,
            () if is_beyond => Verdict::Unequal,
            () => Verdict::Undecided(Why::Unsettled),
        }
    }

    fn symbol(&self, name: &str, point: usize) -> Complex {
        let index = self.names.binary_search_by(|own| own.as_str().cmp(name)).unwrap_or(0);
        let [over, under] = POINTS[(point + 5 * index) % POINTS.len()];
        Complex::real(over / under + (index / POINTS.len()) as f64 / 7.0)
    }

    fn value(&self, expr: &Expr, point: usize) -> Complex {
        match expr {
            Expr::Number(number) => Complex::real(number.to_f64()),
            Expr::Symbol(name) => self.symbol(name, point),
            Expr::Pi => Complex::real(std::f64::consts::PI),
            Expr::Euler => Complex::real(std::f64::consts::E),
            Expr::Imaginary => Complex::IMAGINARY,
            Expr::Degree => Complex::real(std::f64::consts::PI / 180.0),
            Expr::Infinity => Complex::real(f64::INFINITY),
            Expr::Sum(terms) => {
                terms.iter().map(|term| self.value(term, point)).fold(Complex::real(0.0), Complex::plus)
            }
            Expr::Negated(inner) => self.value(inner, point).negated(),
            Expr::Percent(inner) => self.value(inner, point).times(Complex::real(0.01)),
            Expr::Product(factors) => factors.iter().fold(Complex::real(1.0), |product, factor| {
                let value = self.value(&factor.expr, point);
                product.times(if factor.inverse { value.inverted() } else { value })
            }),
            Expr::Power(power) => self.power(&power.base, &power.exponent, point),
            Expr::Call(function, argument) => called(function, self.value(argument, point)),
            Expr::Binomial(choice) => {
                let (all, some) = (self.value(&choice.all, point), self.value(&choice.some, point));
                let rest = factorial(all.plus(some.negated())).times(factorial(some));
                factorial(all).times(rest.inverted())
            }
        }
    }

    /// A power; odd roots of negative numbers are the real ones, as in `root`.
    fn power(&self, base: &Expr, exponent: &Expr, point: usize) -> Complex {
        let (value, by) = (self.value(base, point), self.value(exponent, point));
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
