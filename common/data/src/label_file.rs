//! Labels that stand in a file of their own, one a line, beside the rows they belong to (PIQA, SIQA).

use crate::Row;
use crate::error::{DataError, Faults};
use crate::lines;
use serde_json::Value;
use std::path::Path;

/// Reads one value a line: integers when `as_int`, else texts as they are.
///
/// # Errors
/// An unreadable file, blank lines before the last, lines that are no integer where one is wanted.
pub fn read_lines(path: &Path, as_int: bool) -> Result<Vec<Value>, Vec<DataError>> {
    let bytes = lines::load(path)?;
    let mut faults = Faults::new(path);
    let mut values = Vec::new();
    for (line, text) in lines::split(&bytes) {
        match text {
            Err((column, message)) => faults.add(line, column, message),
            Ok(text) if !as_int => values.push(text.into()),
            Ok(text) => match text.trim().parse::<i64>() {
                Ok(number) => values.push(number.into()),
                Err(_) => faults.add(line, 1, format!("`{}` is not an integer", text.trim())),
            },
        }
    }
    faults.or(values)
}

/// Adds a column of values, one per row in order, behind the row's own columns.
///
/// # Errors
/// The counts differ, or a row has such a column already; `rows` is then unchanged.
pub fn add_column(
    rows: &mut [Row],
    main: &Path,
    column: &str,
    values: Vec<Value>,
    other: &Path,
) -> Result<(), DataError> {
    if rows.len() != values.len() {
        let (rows, labels) = (rows.len(), values.len());
        return Err(DataError::RowCount { main: main.into(), rows, other: other.into(), labels });
    }
    if let Some(row) = rows.iter().position(|row| row.contains_key(column)) {
        return Err(DataError::ColumnTaken { main: main.into(), row, column: column.into(), other: other.into() });
    }
    for (row, value) in rows.iter_mut().zip(values) {
        row.insert(column.into(), value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_join_their_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.lst");
        std::fs::write(&path, "1\r\n0\n\n").unwrap();
        assert_eq!(read_lines(&path, true).unwrap(), [json!(1), json!(0)]);
        assert_eq!(read_lines(&path, false).unwrap(), [json!("1"), json!("0")]);

        let main = Path::new("main.jsonl");
        let mut rows = vec![Row::new(), Row::new()];
        add_column(&mut rows, main, "label", read_lines(&path, true).unwrap(), &path).unwrap();
        assert_eq!(rows[0]["label"], json!(1));
        let taken = add_column(&mut rows, main, "label", vec![json!(1), json!(2)], &path).unwrap_err();
        assert!(taken.to_string().contains("row 0 (from 0) has a column `label` already"), "{taken}");
        let short = add_column(&mut rows, main, "x", vec![json!(1)], Path::new("labels.lst")).unwrap_err();
        assert_eq!(short.to_string(), "main.jsonl has 2 rows, but labels.lst has 1 lines: they must have as many");
    }

    #[test]
    fn what_is_no_integer_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.lst");
        std::fs::write(&path, "1\nB\n2.5\n").unwrap();
        let errors = read_lines(&path, true).unwrap_err();
        assert_eq!(errors.len(), 2);
        assert!(errors[0].to_string().ends_with("labels.lst:2:1: `B` is not an integer"), "{}", errors[0]);
    }
}
