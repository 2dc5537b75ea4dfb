//! The one reader of answers: from what a model wrote to its letter, number, formula or words, in English and in Chinese.
//!
//! Here are the parts that its tiers are made of.

mod boxes;
mod dress;
mod folded;
mod letters;
mod math;
mod number;
mod options_list;
mod text;
