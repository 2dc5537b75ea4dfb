//! A formula as it is written.

use super::ratio::Ratio;

/// Nests as deep as the text that it is read from, which is bounded.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Number(Ratio),
    Symbol(String),
    Pi,
    /// The base of natural logarithms.
    Euler,
    Imaginary,
    /// One degree: pi / 180, or a unit at the end of an answer.
    Degree,
    Infinity,
    Sum(Vec<Expr>),
    Negated(Box<Expr>),
    Product(Vec<Factor>),
    Percent(Box<Expr>),
    Power(Box<Power>),
    /// A function, its name and its argument.
    Call(Function, Box<Expr>),
    Binomial(Box<Choice>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Factor {
    pub(super) expr: Expr,
    /// Divides instead.
    pub(super) inverse: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Power {
    pub(super) base: Expr,
    pub(super) exponent: Expr,
}

/// Binomial coefficient: the ways to choose some from all.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub(super) all: Expr,
    pub(super) some: Expr,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Function {
    Sine,
    Cosine,
    Tangent,
    ArcSine,
    ArcCosine,
    ArcTangent,
    HyperbolicSine,
    HyperbolicCosine,
    HyperbolicTangent,
    /// Natural.
    Logarithm,
    Magnitude,
    Floor,
    Ceiling,
    Factorial,
    /// One of which nothing but its name is known.
    Named(String),
}

impl Expr {
    pub(super) fn whole(number: i64) -> Self {
        Self::Number(Ratio::whole(number))
    }

    pub(super) fn call(function: Function, argument: Expr) -> Self {
        Self::Call(function, Box::new(argument))
    }

    pub(super) fn negated(self) -> Self {
        match self {
            Self::Number(number) => Self::Number(number.negated()),
            other => Self::Negated(Box::new(other)),
        }
    }

    pub(super) fn times(self, other: Expr) -> Self {
        Self::Product(vec![Factor { expr: self, inverse: false }, Factor { expr: other, inverse: false }])
    }

    pub(super) fn over(self, under: Expr) -> Self {
        Self::Product(vec![Factor { expr: self, inverse: false }, Factor { expr: under, inverse: true }])
    }

    pub(super) fn power(self, exponent: Expr) -> Self {
        Self::Power(Box::new(Power { base: self, exponent }))
    }

    /// The symbols' names, each as often as it stands.
    pub(super) fn symbols(&self, names: &mut Vec<String>) {
        match self {
            Self::Symbol(name) => names.push(name.clone()),
            Self::Sum(terms) => terms.iter().for_each(|term| term.symbols(names)),
            Self::Product(factors) => factors.iter().for_each(|factor| factor.expr.symbols(names)),
            Self::Negated(inner) | Self::Percent(inner) | Self::Call(_, inner) => inner.symbols(names),
            Self::Power(power) => {
                power.base.symbols(names);
                power.exponent.symbols(names);
            }
            Self::Binomial(choice) => {
                choice.all.symbols(names);
                choice.some.symbols(names);
            }
            Self::Number(_) | Self::Pi | Self::Euler | Self::Imaginary | Self::Degree | Self::Infinity => {}
        }
    }

    /// Returns whether it is made of symbols alone, without a number: `x`, `f(x)`, `a+b`, `\sin x`.
    pub(super) fn is_name(&self) -> bool {
        match self {
            Self::Symbol(_) | Self::Euler | Self::Imaginary => true,
            Self::Sum(terms) => terms.iter().all(Self::is_name),
            Self::Product(factors) => factors.iter().all(|factor| factor.expr.is_name()),
            Self::Call(Function::Named(_), _) => true,
            Self::Call(Function::Sine | Function::Cosine | Function::Tangent, angle) => angle.is_name(),
            _ => false,
        }
    }
}
