//! `[dataset.test]` and `[dataset.train]`: files, and what is made of their rows.

pub(crate) mod circular;
pub(crate) mod columns;
pub(crate) mod files;
pub(crate) mod keep;
pub(crate) mod lists;
pub(crate) mod row_template;
pub(crate) mod split;
