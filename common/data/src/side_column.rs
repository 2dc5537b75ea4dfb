//! Columns that stand in a file of their own beside the rows they belong to: labels one a line (PIQA, SIQA), or a column
//! of a second table. They are held whole.

use crate::error::{DataError, Faults};
use crate::expression::{self, look_up};
use crate::lines::SolidLines;
use crate::stream;
use compass_settings::{Cast, Expression, ReadLimits, ReadOptions};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The values of such a column, in the order of the rows.
#[derive(Debug)]
pub(crate) struct SideColumn {
    pub(crate) file: PathBuf,
    /// A row that lacks the column has null here.
    pub(crate) values: Vec<Value>,
}

/// Reads the file of `lines_of` or `rows_of`; `None` for every other expression. Faults are collected.
pub(crate) fn read(
    expression: &Expression,
    cast: Option<Cast>,
    limits: ReadLimits,
    faults: &mut Faults,
) -> Option<SideColumn> {
    let (file, values) = match expression {
        Expression::LinesOf { file } => (file, lines(file, cast, limits, faults)),
        Expression::RowsOf { file, column } => (file, column_of(file, column, limits, faults)),
        _ => return None,
    };
    match values {
        Ok(values) => Some(SideColumn { file: file.clone(), values }),
        Err(fault) => {
            faults.add(fault);
            None
        }
    }
}

/// One value a line. What it cannot be cast to is reported here, where the line is known.
fn lines(path: &Path, cast: Option<Cast>, limits: ReadLimits, faults: &mut Faults) -> Result<Vec<Value>, DataError> {
    let mut values = Vec::new();
    for line in SolidLines::open(path, limits)? {
        let read = line.and_then(|line| match cast {
            None => Ok(line.text.into()),
            Some(cast) => expression::cast(line.text.into(), cast)
                .map_err(|unfit| DataError::at(path, Some(line.number), values.len(), unfit.to_string())),
        });
        match read {
            Ok(value) => values.push(value),
            Err(fault) => faults.add(fault),
        }
    }
    Ok(values)
}

fn column_of(path: &Path, column: &str, limits: ReadLimits, faults: &mut Faults) -> Result<Vec<Value>, DataError> {
    let mut values = Vec::new();
    for row in stream::open(path, &ReadOptions { limits, ..ReadOptions::default() }, &[])? {
        match row {
            Ok(placed) => values.push(look_up(&placed.row, column).cloned().unwrap_or_default()),
            Err(fault) => faults.add(fault),
        }
    }
    Ok(values)
}
