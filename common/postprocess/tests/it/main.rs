//! The integration tests of compass-postprocess, in one program.

#![warn(clippy::disallowed_methods)]

#[cfg(test)]
mod answer_cases;
#[cfg(test)]
mod answers;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod postprocess_goldens;
