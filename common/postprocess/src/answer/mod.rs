//! The one reader of answers: from what a model wrote to its letter, number, formula or words, in English and in Chinese.
//!
//! Here are the parts that its tiers are made of.

mod boxes;
mod candidate;
mod dress;
mod folded;
mod found;
mod kinds;
mod letters;
mod markers;
mod math;
mod number;
mod options_list;
mod text;

pub use found::{AnswerKind, FoundAnswer, FoundBy};
