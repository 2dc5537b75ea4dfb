//! From results to what a person reads: evaluators, the documents of a run, the table.
//!
//! Pure functions of plan and results: no times, paths or facts of a run, so their bytes are the same under any schedule.

pub mod evaluator;
pub mod report;
pub mod summary;
