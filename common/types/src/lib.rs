//! Vocabulary of all other packages: identities, sets of samples, results of samples, lengths of time.
//!
//! Plain values without I/O, which every other package may use.

pub mod duration;
pub mod function;
pub mod ids;
pub mod intervals;
pub mod path_rules;
pub mod range;
pub mod result;
pub mod secret;
pub mod seeded;
