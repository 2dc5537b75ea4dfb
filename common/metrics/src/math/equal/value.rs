//! The values that answers are: numbers, lists, sets, tuples, regions, relations, matrices, words.
//!
//! Data: `reader` reads them, `sets`, `relation` and `matrix` say what can be done with theirs, `compare` compares.

use super::algebra::Algebra;
use super::decision::Why;
use super::polynomial::Quotient;
use super::tree::Expr;

/// A formula with what stands around it.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) expr: Expr,
    pub(super) normal: Quotient,
    /// The real number that it is, if it is a constant.
    pub(super) place: Option<f64>,
    pub(super) percent: bool,
    /// Written with a decimal point: its last digit may be rounded.
    pub(super) decimal: bool,
    /// A unit of measure.
    pub(super) unit: Option<String>,
    /// The base of `1011_2`; the formula is its digits read in base ten.
    pub(super) base: Option<u32>,
    /// All of it where it is letters, for what may be a word.
    pub(super) letters: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Item(Box<Item>),
    /// Infinity and its sign.
    Infinite {
        negative: bool,
    },
    Text(String),
    /// Values side by side; `or` between all of them.
    List {
        values: Vec<Value>,
        alternatives: bool,
    },
    Set(Vec<Value>),
    /// In round brackets, or more than two in square ones. Two in round brackets may be an open interval.
    Tuple(Vec<Value>),
    Region(Region),
    Relation(Box<Relation>),
    /// A name and what it stands for: `A = \{1, 2\}`, `\angle B = 30`.
    Named(String, Box<Value>),
    Matrix(Matrix),
}

impl Item {
    /// A formula without unit.
    pub(super) fn new(expr: Expr, algebra: &mut Algebra) -> Result<Self, Why> {
        let normal = algebra.normal(&expr)?;
        let place = algebra.constant(&normal).filter(|value| value.is_real()).map(|value| value.re);
        Ok(Self { expr, normal, place, percent: false, decimal: false, unit: None, base: None, letters: None })
    }
}

#[derive(Clone, Debug)]
pub(super) enum Limit {
    Below,
    At(Box<Item>),
    Above,
}

#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) limit: Limit,
    pub(super) closed: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub(super) low: End,
    pub(super) high: End,
}

#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) pieces: Vec<Interval>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Sides with an operator between each two: `1 < x < 2`.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    pub(super) sides: Vec<Item>,
    pub(super) operators: Vec<Operator>,
}

/// Rows of the same length, not empty.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    pub(super) rows: Vec<Vec<Value>>,
}
