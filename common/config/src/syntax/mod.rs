//! Text with origins: the files as they were read, the tree that they are parsed into, merged and printed from.

pub(crate) mod merge;
pub(crate) mod parse;
pub(crate) mod source;
pub(crate) mod toml_text;
pub(crate) mod tree;
