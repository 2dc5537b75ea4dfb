//! Groups of data sets that a table shows as one number: the user's own, and those that come with the program.

mod group;
mod row_name;
mod shipped;
mod transform;

pub use group::{Average, Subset, SummaryGroup};
pub use row_name::RowName;
pub use shipped::{group as shipped_group, groups as shipped_groups};
pub use transform::Transform;
