//! Answers apart from their score: the classes that say why one may be wrong, and how long they are.

mod class;
mod of_sample;
mod repetition;
mod summary;

pub use class::{AnswerClass, Classes};
pub use of_sample::classes;
pub use summary::{AnswerFigures, AnswerSummary, Lengths, OpenBounds};
