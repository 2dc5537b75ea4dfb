//! `datasets.Dataset`: rows of named columns. Nothing that is read out of it is shared with it.

use super::{Object, column, value};
use crate::error::{Result, Stop, type_error, value_error};
use crate::evaluate::{Interpreter, key_error};
use crate::limits::Budget;
use crate::place::Place;
use crate::value::{Dict, Slot, Value, deep_copy};
use std::rc::Rc;

/// A data set.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) columns: Rc<[Rc<str>]>,
    /// As many values as there are columns, each.
    pub(crate) rows: Rc<[Rc<[Value]>]>,
}

impl Table {
    /// A data set of columns of one length.
    ///
    /// # Errors
    /// Columns of different lengths, and values of different types in one.
    pub(crate) fn of(budget: &mut Budget, columns: Vec<(Rc<str>, Vec<Value>)>) -> Result<Self> {
        let length = columns.first().map_or(0, |(_, values)| values.len());
        if let Some((name, values)) = columns.iter().find(|(_, values)| values.len() != length) {
            let (first, got) = (columns.first().map(|(name, _)| name.to_string()).unwrap_or_default(), values.len());
            let text = format!("Column {name} expected length {length} but got length {got} (of column {first})");
            return Err(value_error(text));
        }
        let mut stored = Vec::with_capacity(columns.len());
        for (name, values) in &columns {
            budget.make(values.len() * size_of::<Value>())?;
            stored.push(column::stored(budget, name, values)?.into_iter());
        }
        let row = |_| stored.iter_mut().filter_map(Iterator::next).collect::<Rc<[Value]>>();
        let rows = (0..length).map(row).collect();
        Ok(Self { columns: columns.into_iter().map(|(name, _)| name).collect(), rows })
    }

    /// `Dataset.from_list`: the keys of the first dict are the columns.
    pub(crate) fn of_dicts(budget: &mut Budget, rows: &[Slot]) -> Result<Self> {
        let mut columns: Vec<(Rc<str>, Vec<Value>)> = Vec::new();
        if let Some(first) = rows.first() {
            let Value::Dict(first) = &first.value else {
                return Err(type_error(format!("'{}' object is not a row", first.value.type_name())).at(first.place));
            };
            for entry in first.borrow().iter() {
                let name = entry.key.value.as_text().ok_or_else(|| not_a_name(&entry.key.value))?;
                columns.push((Rc::clone(name), Vec::with_capacity(rows.len())));
            }
        }
        for row in rows {
            budget.step()?;
            let Value::Dict(dict) = &row.value else {
                let text = format!("'{}' object has no attribute 'get'", row.value.type_name());
                return Err(crate::error::attribute_error(text).at(row.place));
            };
            let dict = dict.borrow();
            for (name, values) in &mut columns {
                values.push(dict.get_text(name).map_or(Value::None, |slot| slot.value.clone()));
            }
        }
        Self::of(budget, columns)
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|known| &**known == column)
    }

    /// The position of a column that must be there.
    pub(crate) fn expect(&self, column: &str) -> Result<usize> {
        self.position(column).ok_or_else(|| {
            let names: Vec<String> = self.columns.iter().map(|name| format!("'{name}'")).collect();
            let text = format!(
                "Column name {column} not in the dataset. Current columns in the dataset: [{}]",
                names.join(", ")
            );
            value_error(text)
        })
    }

    /// A row as a dict.
    pub(crate) fn row(&self, interpreter: &mut Interpreter<'_>, at: usize, place: Place) -> Result<Value> {
        let mut dict = Dict::default();
        interpreter.budget.make(self.columns.len() * size_of::<Slot>() * 2)?;
        for (name, value) in self.columns.iter().zip(self.rows.get(at).into_iter().flat_map(|row| row.iter())) {
            let value = deep_copy(&mut interpreter.budget, value)?;
            dict.insert_text(name, place, Slot { value, place });
        }
        Ok(Value::dict(dict))
    }

    /// The values of a column.
    pub(crate) fn values(&self, at: usize) -> Vec<Value> {
        self.rows.iter().filter_map(|row| row.get(at).cloned()).collect()
    }

    /// `data[name]`: a list.
    pub(crate) fn column(&self, interpreter: &mut Interpreter<'_>, name: &str) -> Result<Value> {
        let at = self.position(name).ok_or_else(|| key_error(&Value::text(name)))?;
        let mut values = Vec::with_capacity(self.len());
        interpreter.budget.make(self.len() * size_of::<Slot>())?;
        for value in self.values(at) {
            values.push(deep_copy(&mut interpreter.budget, &value)?);
        }
        Ok(Value::list_at(values, Place::default()))
    }

    pub(crate) fn to_dict(&self, interpreter: &mut Interpreter<'_>) -> Result<Value> {
        let mut dict = Dict::default();
        let place = Place::default();
        for name in self.columns.iter() {
            let value = self.column(interpreter, name)?;
            dict.insert_text(name, place, Slot { value, place });
        }
        Ok(Value::dict(dict))
    }

    pub(crate) fn select(&self, indices: &[usize]) -> Self {
        let rows = indices.iter().filter_map(|at| self.rows.get(*at).cloned()).collect();
        Self { columns: Rc::clone(&self.columns), rows }
    }

    /// The columns at these positions.
    pub(crate) fn with_columns(&self, positions: &[usize]) -> Self {
        let pick = |row: &Rc<[Value]>| positions.iter().filter_map(|at| row.get(*at).cloned()).collect::<Rc<[Value]>>();
        Self {
            columns: positions.iter().filter_map(|at| self.columns.get(*at).cloned()).collect(),
            rows: self.rows.iter().map(pick).collect(),
        }
    }

    /// Its columns with their values.
    pub(crate) fn parts(&self) -> Vec<(Rc<str>, Vec<Value>)> {
        self.columns.iter().enumerate().map(|(at, name)| (Rc::clone(name), self.values(at))).collect()
    }

    pub(crate) fn into_value(self) -> Value {
        value(Object::Table(self))
    }

    /// `concatenate_datasets`: columns by name; a column that a part lacks has None there.
    pub(crate) fn concatenate(budget: &mut Budget, tables: &[&Self]) -> Result<Self> {
        let mut names: Vec<Rc<str>> = Vec::new();
        for table in tables {
            for name in table.columns.iter() {
                if !names.contains(name) {
                    names.push(Rc::clone(name));
                }
            }
        }
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let mut values = Vec::new();
            for table in tables {
                match table.position(&name) {
                    Some(at) => values.extend(table.values(at)),
                    None => values.extend(std::iter::repeat_n(Value::None, table.len())),
                }
            }
            columns.push((name, values));
        }
        Self::of(budget, columns)
    }
}

fn not_a_name(value: &Value) -> Stop {
    type_error(format!("a column is named by a text, not by {}", value.type_name()))
}
