//! JSON for files and stores. A value that cannot be written is an error with its name, never an empty file: what is empty
//! would be read back later as damage, or as nothing at all.

use serde::Serialize;

/// A value that JSON cannot hold: a path that is not UTF-8, a map whose keys are not texts.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {what} as JSON")]
pub struct EncodeError {
    /// The value, for people: "the plan", "the record of job 3f2a".
    what: String,
    #[source]
    source: serde_json::Error,
}

impl EncodeError {
    fn of(what: impl Into<String>) -> impl FnOnce(serde_json::Error) -> Self {
        move |source| Self { what: what.into(), source }
    }
}

/// Compact JSON.
///
/// # Errors
/// [`EncodeError`].
pub fn json(what: &str, value: &impl Serialize) -> Result<Vec<u8>, EncodeError> {
    serde_json::to_vec(value).map_err(EncodeError::of(what))
}

/// Indented JSON, for people.
///
/// # Errors
/// [`EncodeError`].
pub fn pretty_json(what: &str, value: &impl Serialize) -> Result<Vec<u8>, EncodeError> {
    serde_json::to_vec_pretty(value).map_err(EncodeError::of(what))
}

/// A tree of JSON values, as part of another document.
///
/// # Errors
/// [`EncodeError`].
pub fn value(what: &str, value: &impl Serialize) -> Result<serde_json::Value, EncodeError> {
    serde_json::to_value(value).map_err(EncodeError::of(what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    #[test]
    fn what_cannot_be_written_is_named() {
        let path = Path::new(OsStr::from_bytes(b"run-\xff"));
        for written in [json("the run record", &path), pretty_json("the run record", &path)] {
            let error = written.unwrap_err();
            assert_eq!(error.to_string(), "cannot write the run record as JSON");
            assert!(std::error::Error::source(&error).unwrap().to_string().contains("UTF-8"));
        }
        assert_eq!(json("a list", &[1, 2]).unwrap(), b"[1,2]");
    }
}
