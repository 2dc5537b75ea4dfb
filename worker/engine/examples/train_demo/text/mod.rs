//! The demo's text, all made by this program: what the model is trained on, and the data sets that it never saw.
//!
//! Deterministic: the same seed writes the same bytes everywhere. Test rows are held out by construction: whether a pair of
//! numbers or a story is for training or for testing is decided by a hash of it, before any text is written.

mod corpus;
mod facts;
mod holdout;
mod larger;
mod random;
mod rows;
mod stories;
mod sums;

pub(crate) use corpus::documents;
pub(crate) use rows::{DataFile, data_files};
