//! From recorded results to metrics, tables and notes.

mod divergence;
mod kept_scores;
mod origins;
mod reasons;
pub mod recalled;
mod sample_notes;
pub mod score;
#[cfg(test)]
mod score_tests;
mod thoughts;

pub use kept_scores::show_kept;
pub use origins::{Origins, note_divergences};
pub use recalled::recalled;
pub use score::{
    Answers, Evidence, Executions, ScoreError, UnitEntries, latest_summary, latest_table, latest_table_within, score,
    summarize,
};
