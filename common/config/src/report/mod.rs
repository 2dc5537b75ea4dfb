//! Findings: what is wrong, what is missing and what is left out, each with its place.

pub(crate) mod check;
pub(crate) mod environment;
pub(crate) mod left_out;
pub(crate) mod missing_files;
