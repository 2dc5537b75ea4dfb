//! Data set readers: files to rows of named columns, with every fault of a file said at once and in place.
//!
//! Columns keep the order of the file, because templates are filled in that order. What a row means (labels, prompts) is
//! decided in `compass-common`.

mod error;
mod json_list;
mod label_file;
mod lines;
mod range;
mod read;

pub use compass_common::prompt::Row;
pub use error::DataError;
pub use label_file::{add_column, read_lines};
pub use range::apply_range;
pub use read::read;
