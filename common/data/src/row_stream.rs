//! Rows one after the other, as the readers of every format give them.

use crate::Row;
use crate::error::DataError;

/// A row and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    pub row: Row,
    /// The line that it begins on, from 1; `None` in a file without lines.
    pub line: Option<usize>,
}

/// The rows of one file in order. A faulty row is an error in its place; what stops the reader is the last item.
pub type RowStream = Box<dyn Iterator<Item = Result<Placed, DataError>>>;
