//! Summaries: the table at the end, as text, CSV and Markdown, and as much of it as a person asks for.
//!
//! Made of the plan and the metrics alone. No times, paths or facts of a run, so that the bytes are the same under any
//! schedule.

mod csv;
mod document;
mod fitted;
#[cfg(test)]
mod golden;
mod grouped;
mod listed;
mod long;
mod long_answers;
mod markdown;
mod metric_order;
mod notes;
mod pick;
mod rate_table;
mod rates;
mod table;
mod table_cell;
mod table_value;
mod text;

pub use fitted::broken;
pub use pick::UnknownSort;
pub use table::Summary;
pub use table_cell::TableCell;
