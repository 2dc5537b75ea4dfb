//! Rows of a split by position, however they are held: as values, or as text from which a row is made when it is asked for.

use super::format::Row;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The rows of a split as its range left them.
pub trait RowSource {
    /// Number of rows.
    fn len(&self) -> usize;

    /// Returns `true` if there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row at a position.
    fn row(&self, at: usize) -> Option<Cow<'_, Row>>;

    /// Columns of all rows, in order of first appearance.
    fn columns(&self) -> Vec<String> {
        let (mut seen, mut columns) = (BTreeSet::new(), Vec::new());
        for row in (0..self.len()).filter_map(|at| self.row(at)) {
            for column in row.keys().filter(|column| !seen.contains(*column)).cloned().collect::<Vec<_>>() {
                seen.insert(column.clone());
                columns.push(column);
            }
        }
        columns
    }
}

impl RowSource for Vec<Row> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn row(&self, at: usize) -> Option<Cow<'_, Row>> {
        self.get(at).map(Cow::Borrowed)
    }
}

/// All rows in order.
pub(crate) fn each<'r>(rows: &'r dyn RowSource) -> impl Iterator<Item = Cow<'r, Row>> {
    (0..rows.len()).filter_map(|at| rows.row(at))
}
