//! Equality of two mathematical answers: of the values that they are, not of their strings.
//!
//! A text is cut into tokens (`token`), read into a value (`reader`, its formulas by `latex` into a `tree`), and each formula
//! brought into a normal form (`normal`, `root`, `angle`): a quotient of polynomials (`quotient`, `polynomial`, `ratio`) over
//! atoms (`algebra`). `compare` decides; where exact rules show neither, formulas are compared at points (`numeric`).
//! Everything is pure and bounded by counted steps.

mod algebra;
mod angle;
mod compare;
mod complex;
mod decision;
mod latex;
mod matrix;
mod names;
mod normal;
mod numeric;
mod polynomial;
mod quotient;
mod ratio;
mod reader;
mod relation;
mod root;
mod sets;
mod text;
mod token;
mod tree;
mod value;

pub use compare::equal;
pub use decision::{Rules, Verdict, Why};
