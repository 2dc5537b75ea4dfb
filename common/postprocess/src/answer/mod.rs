//! The one reader of answers: from what a model wrote to its letter, number, formula or words, in English and in Chinese.
//!
//! Here are the parts that its tiers are made of.

mod dress;
mod folded;
mod number;
