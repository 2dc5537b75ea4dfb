//! Equality of two mathematical answers: of the values that they are, not of their strings.
//!
//! Everything is pure and bounded by counted steps.

#![expect(dead_code, reason = "nothing compares yet")]

mod algebra;
mod angle;
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

pub use decision::{Rules, Verdict, Why};
