//! The integration tests of compass-eval, in one program.

#[cfg(test)]
mod evaluator_goldens;
#[cfg(test)]
mod golden_scores;
