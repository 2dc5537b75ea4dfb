//! Postprocessors: pure functions from the text of an answer to the answer.

mod kind;

pub use kind::Postprocessor;
