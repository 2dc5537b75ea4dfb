//! Data set readers: files to rows of named columns, with every fault of a file said at once and in place.
//!
//! Columns keep the order of the file, because templates are filled in that order. What a row means (labels, prompts) is
//! decided in `compass-common`; so is the grammar of what a split makes of its rows.

#[cfg(feature = "columnar")]
mod arrow_value;
mod bytes;
mod circular;
#[cfg(feature = "columnar")]
mod columnar;
mod delimited;
mod error;
mod expression;
#[cfg(feature = "columnar")]
mod guarded;
mod json_document;
mod json_lines;
mod json_spans;
mod lines;
mod list_expression;
mod quotes;
mod range;
mod row_stream;
mod row_table;
mod shaping;
mod side_column;
mod split;
mod stream;
mod text_rows;

pub use compass_plan::prompt::Row;
pub use error::DataError;
pub use range::apply_range;
pub use row_stream::{Placed, RowStream};
pub use split::{SplitRows, read_split};
pub use stream::{open, read};
