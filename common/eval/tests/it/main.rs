//! The integration tests of compass-eval, in one program.

#![warn(clippy::disallowed_methods)]

#[cfg(test)]
mod evaluator_goldens;
#[cfg(test)]
mod golden_scores;
