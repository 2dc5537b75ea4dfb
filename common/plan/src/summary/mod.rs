//! Groups of data sets that a table shows as one number: the user's own, and those that come with the program.

mod group;
mod shipped;

pub use group::{Average, Subset, SummaryGroup};
pub use shipped::{group as shipped_group, groups as shipped_groups};
