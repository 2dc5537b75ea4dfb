//! Evaluators as accumulators: observe samples in any split, merge, finish.

mod kind;

pub use kind::EvaluatorKind;
