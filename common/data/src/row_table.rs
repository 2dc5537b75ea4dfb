//! Rows as text, from which each is made when it is asked for: a row takes the bytes of its JSON, not the several hundred
//! that its map takes.

use crate::Row;
use serde_json::Value;
use std::collections::BTreeSet;

/// Levels of lists and tables within a row; what reads JSON goes to 128, the row itself being one.
const MOST_DEPTH: usize = 127;

/// Levels of lists and tables in a value.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(entries) => 1 + entries.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Rows in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct RowTable {
    json: Vec<u8>,
    /// After the last byte of each row.
    ends: Vec<u64>,
    /// Columns of all rows, in order of first appearance.
    columns: Vec<String>,
    known: BTreeSet<String>,
}

impl RowTable {
    /// Adds a row.
    ///
    /// # Errors
    /// In words: it cannot be written down, or would not be read again.
    pub(crate) fn push(&mut self, row: &Row) -> Result<(), String> {
        if row.values().map(depth).max() >= Some(MOST_DEPTH) {
            return Err(format!("the row is nested {MOST_DEPTH} levels deep, or deeper"));
        }
        let before = self.json.len();
        if let Err(error) = serde_json::to_writer(&mut self.json, row) {
            self.json.truncate(before);
            return Err(error.to_string());
        }
        self.ends.push(self.json.len() as u64);
        for column in row.keys() {
            if !self.known.contains(column) {
                self.known.insert(column.clone());
                self.columns.push(column.clone());
            }
        }
        Ok(())
    }

    /// The row at a position.
    pub(crate) fn get(&self, at: usize) -> Option<Row> {
        let end = *self.ends.get(at)? as usize;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end as usize);
        // What was written is read as it was.
        serde_json::from_slice(self.json.get(start..end)?).ok()
    }

    /// Columns of all rows, in order of first appearance.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_come_back_as_they_were() {
        let rows = [
            json!({"z": "é\u{0}\"", "a": [1, -2, 1.5e-7, 0.1, 18_446_744_073_709_551_615_u64, null, true]}),
            json!({}),
            json!({"a": {"k": {"b": 1, "a": 2}}, "new": 5e-324}),
        ];
        let rows: Vec<Row> = rows.iter().map(|row| row.as_object().unwrap().clone()).collect();
        let mut table = RowTable::default();
        rows.iter().for_each(|row| table.push(row).unwrap());
        let back: Vec<Row> = (0..3).map(|at| table.get(at).unwrap()).collect();
        // Compared as text too: the order of columns counts.
        assert_eq!((serde_json::to_string(&back).unwrap(), &back), (serde_json::to_string(&rows).unwrap(), &rows));
        assert_eq!(table.columns(), ["z", "a", "new"]);
        assert_eq!(table.get(3), None);
        let nested = |levels: usize| (0..levels).fold(json!(1), |value, _| json!([value]));
        let row = |levels: usize| json!({"x": nested(levels)}).as_object().unwrap().clone();
        table.push(&row(MOST_DEPTH - 1)).unwrap();
        assert_eq!(table.get(3), Some(row(MOST_DEPTH - 1)));
        assert!(table.push(&row(MOST_DEPTH)).unwrap_err().contains("nested"));
        assert_eq!(table.get(4), None);
    }
}
