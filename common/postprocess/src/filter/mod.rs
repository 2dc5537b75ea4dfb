//! lm-eval's filters: pure functions from the responses to one document to what its metrics compare.

mod apply;
mod entities;
mod error;
mod kind;
mod named;
mod options;
mod responses;
mod select;

pub use apply::apply_filters;
pub use error::FilterError;
pub use kind::{Filter, MultiChoice, Selector};
