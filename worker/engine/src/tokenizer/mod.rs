//! From text to tokens and back, by the rules of the model's own files.

mod anchors;
mod bos;
mod cleanup;
mod settings;
mod text;

pub(crate) use text::TextTokenizer;
