//! Jobs of real size on the echo engine: data sets for every evaluator that keeps an item per sample, and what each must score.

mod data_sets;
mod expected;
mod job;
mod outcome;
mod question;

pub use data_sets::{DATA_SETS, DataSet, Request};
pub use job::RealSize;
pub use outcome::{RunFindings, folder_digest};
pub use question::Question;
