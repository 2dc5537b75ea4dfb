//! Retrievers: which training rows are shown as shots. Drawn once, at plan time, in the order of the test rows.

mod kind;

pub use kind::RetrieverKind;
