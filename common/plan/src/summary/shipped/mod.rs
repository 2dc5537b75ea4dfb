//! The groups that come with the program, by OpenCompass's names.

mod ceval;
mod cmmlu;
mod exams;
mod groups;
mod mathbench;
mod mmlu;

pub use groups::{group, groups};
