//! Shaping of each row by a split: side columns, computed columns, conditions, names and order.

use crate::Row;
use crate::error::{DataError, Faults};
use crate::expression::{Compiled, Found, cast, look_up};
use crate::json_lines::kind_of;
use crate::side_column::{self, SideColumn};
use compass_pyfmt::python_str;
use compass_settings::{ColumnConfig, Condition, Repeat, SourceConfig, Test};
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeSet;

/// A split ready to shape rows.
pub(crate) struct Shaping<'s> {
    source: &'s SourceConfig,
    columns: Vec<(&'s ColumnConfig, Compiled<'s>, Option<SideColumn>)>,
    /// Conditions, with `true` for one that is asked before the columns are computed: it is about none of them.
    conditions: Vec<(&'s Condition, Option<Regex>, bool)>,
    /// Columns to drop or to put first that no row had so far.
    unseen: BTreeSet<&'s str>,
}

impl<'s> Shaping<'s> {
    /// Reads the files of side columns; what is wrong with them is added to `faults`.
    pub(crate) fn new(source: &'s SourceConfig, faults: &mut Faults) -> Result<Self, DataError> {
        let mut columns = Vec::new();
        for column in &source.columns {
            let compiled = Compiled::new(&column.expression)?;
            columns.push((
                column,
                compiled,
                side_column::read(&column.expression, column.cast, source.read.limits, faults),
            ));
        }
        let lists = source.lists_to_columns.iter().flat_map(|(list, names)| names.iter().chain([list]));
        let each = source.each.iter().map(|(column, _)| column);
        let made: BTreeSet<&String> =
            source.columns.iter().map(|column| &column.name).chain(lists).chain(each).collect();
        let conditions = source.keep.iter().map(|condition| {
            let regex = if let Test::Regex(text) = &condition.test { Some(Regex::new(text)) } else { None };
            let about = condition.column.split('.').next().unwrap_or_default();
            let is_early = !made.iter().any(|made| *made == &condition.column || *made == about);
            Ok((condition, regex.transpose().map_err(|error| DataError::Split(error.to_string()))?, is_early))
        });
        let conditions = conditions.collect::<Result<_, DataError>>()?;
        let unseen = source.drop_columns.iter().chain(&source.order).chain(&source.only).map(String::as_str).collect();
        Ok(Self { source, columns, conditions, unseen })
    }

    /// The rows that the split makes of this one; none when conditions drop it. `at` is its position among all rows of
    /// all files.
    ///
    /// # Errors
    /// In words: what the row lacks or holds wrongly.
    pub(crate) fn shape(&mut self, mut row: Row, at: usize, file: &str) -> Result<Vec<Row>, String> {
        if let Some(column) = &self.source.file_column {
            if row.contains_key(column) {
                return Err(format!("the row has a column `{column}` already, which `file_column` would replace"));
            }
            row.shift_insert(0, column.clone(), file.into());
        }
        if !self.holds(&row, true) {
            return Ok(Vec::new());
        }
        let mut rows = vec![row];
        for (column, repeat) in &self.source.each {
            rows = repeated(rows, column, repeat)?;
        }
        rows.into_iter().filter_map(|row| self.one(row, at).transpose()).collect()
    }

    fn one(&mut self, mut row: Row, at: usize) -> Result<Option<Row>, String> {
        for (column, compiled, side) in &self.columns {
            let beside = side.as_ref().and_then(|side| side.values.get(at));
            let value = compute(column, compiled, &row, at, beside)
                .map_err(|why| format!("column `{}` ({}): {why}", column.name, column.origin))?;
            row.insert(column.name.clone(), value);
        }
        for (list, names) in &self.source.lists_to_columns {
            spread(&mut row, list, names)?;
        }
        if !self.holds(&row, false) {
            return Ok(None);
        }
        self.unseen.retain(|column| !row.contains_key(*column));
        for column in &self.source.drop_columns {
            row.shift_remove(column);
        }
        for column in self.source.order.iter().rev() {
            if let Some(value) = row.shift_remove(column) {
                row.shift_insert(0, column.clone(), value);
            }
        }
        if !self.source.only.is_empty() {
            let mut all = row;
            let pairs = self.source.only.iter();
            row = pairs.filter_map(|column| Some((column.clone(), all.shift_remove(column)?))).collect();
        }
        Ok(Some(row))
    }

    fn holds(&self, row: &Row, early: bool) -> bool {
        let asked = self.conditions.iter().filter(|(_, _, is_early)| *is_early == early);
        asked.into_iter().all(|(condition, regex, _)| {
            let value = look_up(row, &condition.column);
            let holds = match (&condition.test, regex) {
                (Test::Equals(wanted), _) => value.is_some_and(|value| same(value, wanted)),
                (Test::In(wanted), _) => value.is_some_and(|value| wanted.iter().any(|wanted| same(value, wanted))),
                (Test::Exists(exists), _) => value.is_some_and(|value| !value.is_null()) == *exists,
                (Test::Regex(_), Some(regex)) => {
                    value.is_some_and(|value| !value.is_null() && regex.is_match(&python_str(value)))
                }
                (Test::Regex(_), None) => false,
            };
            holds != condition.not
        })
    }

    /// The files of side columns, with the number of their lines.
    pub(crate) fn side_columns(&self) -> impl Iterator<Item = &SideColumn> {
        self.columns.iter().filter_map(|(_, _, side)| side.as_ref())
    }

    /// Columns that are dropped without having been looked at.
    pub(crate) fn never_read(&self) -> Vec<String> {
        let of_columns = self.source.columns.iter().flat_map(|column| column.expression.paths());
        let of_each = self.source.each.iter().filter_map(|(_, repeat)| match repeat {
            Repeat::Items(path) => Some(path.as_str()),
            Repeat::Values(_) => None,
        });
        let of_keep = self.source.keep.iter().map(|condition| condition.column.as_str());
        let lists = self.source.lists_to_columns.iter().map(|(list, _)| list.as_str());
        let looked_at: Vec<&str> = of_columns.chain(of_each).chain(of_keep).chain(lists).collect();
        let is_looked_at = |column: &String| {
            looked_at.iter().any(|path| path == column || path.split('.').next() == Some(column.as_str()))
        };
        self.source.drop_columns.iter().filter(|column| !is_looked_at(column)).cloned().collect()
    }

    /// Columns that are to be dropped or put first, but that no row had.
    pub(crate) fn unseen(&self) -> impl Iterator<Item = &str> {
        self.unseen.iter().copied()
    }
}

fn compute(
    column: &ColumnConfig,
    compiled: &Compiled<'_>,
    row: &Row,
    at: usize,
    beside: Option<&Value>,
) -> Result<Value, String> {
    let value = compiled.value(row, at, beside).map_err(|unfit| unfit.to_string())?;
    match (value, &column.default, column.cast) {
        (Found::Value(value), _, None) => Ok(value),
        (Found::Value(value), _, Some(to)) => cast(value, to).map_err(|unfit| unfit.to_string()),
        (Found::Nothing(_), Some(default), _) => Ok(default.clone()),
        (Found::Nothing(why), None, _) => Err(format!("{why}; `default = ...` says what then stands there")),
    }
}

/// Each row once for every value, which becomes a column.
fn repeated(rows: Vec<Row>, column: &str, repeat: &Repeat) -> Result<Vec<Row>, String> {
    let mut made = Vec::new();
    for row in rows {
        let values = match repeat {
            Repeat::Values(values) => values,
            Repeat::Items(path) => match look_up(&row, path) {
                Some(Value::Array(items)) => items,
                Some(other) => return Err(format!("`{path}` is {}, not a list, for `each`", kind_of(other))),
                None => return Err(format!("there is no `{path}`, which `each` names")),
            },
        };
        made.extend(values.iter().map(|value| {
            let mut one = row.clone();
            one.insert(column.to_owned(), value.clone());
            one
        }));
    }
    Ok(made)
}

/// Makes the items of a list columns, and takes the list away.
fn spread(row: &mut Row, list: &str, names: &[String]) -> Result<(), String> {
    let items = match row.shift_remove(list) {
        Some(Value::Array(items)) if items.len() <= names.len() => items,
        Some(Value::Array(items)) => {
            let (items, names) = (items.len(), names.len());
            return Err(format!("`{list}` has {items} items, but `lists_to_columns` names {names} columns"));
        }
        Some(other) => return Err(format!("`{list}` is {}, not a list", kind_of(&other))),
        None => return Err(format!("there is no `{list}`, which `lists_to_columns` names")),
    };
    // A shorter list leaves the last columns out: questions of a set differ in the number of their choices.
    row.extend(names.iter().cloned().zip(items));
    Ok(())
}

/// Numbers by what they count, all else by what it is: `1` is `1.0` but not `"1"`.
fn same(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (a, b) => a == b,
    }
}
