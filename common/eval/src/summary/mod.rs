//! Summaries: the table at the end, as text, CSV and Markdown.
//!
//! Made of the plan and the metrics alone. No times, paths or facts of a run, so that the bytes are the same under any
//! schedule.

mod csv;
mod document;
#[cfg(test)]
mod golden;
mod grouped;
mod listed;
mod markdown;
mod metric_order;
mod notes;
mod table;
mod table_cell;
mod table_value;
mod text;

pub use table::Summary;
pub use table_cell::TableCell;
