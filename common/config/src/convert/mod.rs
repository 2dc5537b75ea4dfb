//! Configurations in Python, written as TOML.

pub(crate) mod document;
pub(crate) mod paths;
pub(crate) mod secrets;
