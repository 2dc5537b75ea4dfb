//! Retrievers: which training rows are shown as shots. Drawn once, at plan time, in the order of the test rows.

mod bm25;
mod draw;
mod kind;
mod words;

pub use draw::{Draws, draw};
pub use kind::RetrieverKind;
