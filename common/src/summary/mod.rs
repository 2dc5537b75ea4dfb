//! Summaries: the table at the end, as text, CSV and Markdown.
//!
//! Made of the plan and the metrics alone. No times, paths or facts of a run, so that the bytes are the same under any
//! schedule.

mod cell;
mod csv;
mod document;
mod figure;
#[cfg(test)]
mod golden;
mod group;
mod grouped;
mod markdown;
mod metric_order;
mod notes;
mod shipped;
mod table;
mod text;

pub use cell::Cell;
pub use group::{Average, Subset, SummaryGroup};
pub use shipped::{group as shipped_group, groups as shipped_groups};
pub use table::Summary;
