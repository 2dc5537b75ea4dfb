//! Readers: one for each table, from the tree to the values of a run.

pub(crate) mod abbr;
pub(crate) mod choice;
pub(crate) mod combination;
pub(crate) mod datasets;
pub(crate) mod decoding;
pub(crate) mod evaluation;
pub(crate) mod fields;
pub(crate) mod gate;
pub(crate) mod import;
pub(crate) mod master;
pub(crate) mod models;
pub(crate) mod notify;
pub(crate) mod paths;
pub(crate) mod pool;
pub(crate) mod splits;
pub(crate) mod stages;
pub(crate) mod summary;
pub(crate) mod templates;
pub(crate) mod top;
