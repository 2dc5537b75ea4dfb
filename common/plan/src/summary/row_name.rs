//! The rows that a table shows, in the order asked for.

use serde::{Deserialize, Serialize};

/// A row that is asked for. What names neither a data set nor a group of the table is a heading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowName {
    /// The data set, the group, or the text of a heading; an empty one is a blank row.
    pub name: String,
    /// The metric; its first one unless given.
    pub metric: Option<String>,
}
