//! Reasons for a score: the answers of a run by their classes, with the accuracy and the first answers of each.

mod command;
mod gather;
mod text;

pub use command::run;
pub use gather::{ClassOfAnswers, SelectedAnswer, UnitAnswers, WhyQuery, gather};
