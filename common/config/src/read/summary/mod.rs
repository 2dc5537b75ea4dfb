//! `[summarizer]` and `[[summary_group]]`: the rows of the table.

pub(crate) mod cycle;
pub(crate) mod files;
pub(crate) mod group;
pub(crate) mod summarizer;
