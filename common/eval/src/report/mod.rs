//! The documents behind the table: `predictions/` and `results/`, with OpenCompass's keys in OpenCompass's order.
//!
//! Pure functions of plan and results: no times, paths or facts of a run, so their bytes are the same under any schedule.

mod answers;
mod document;
mod findings;
mod prediction;
mod reading;
mod results;
mod thinking;

pub use document::{pretty, write_records};
pub use findings::{Details, Findings};
pub use prediction::prediction_record;
pub use results::{ResultsDocument, results_document};
