//! The keyword arguments of a function that a configuration names.

use super::NameError;
use serde_json::{Map, Value};

/// Arguments of the function called `name`.
pub(super) struct Arguments<'a> {
    pub(super) name: &'a str,
    pub(super) parameters: &'a Map<String, Value>,
}

impl Arguments<'_> {
    /// Nothing but these may be given.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), NameError> {
        match self.parameters.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(NameError::UnknownParameter { name: self.name.into(), key: key.clone() }),
            None => Ok(()),
        }
    }

    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool, NameError> {
        match self.parameters.get(key) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong_type(key, "true or false")),
        }
    }

    pub(super) fn wrong_type(&self, key: &str, expected: &'static str) -> NameError {
        NameError::WrongType { name: self.name.into(), key: key.into(), expected }
    }
}
