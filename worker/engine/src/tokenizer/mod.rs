//! From text to tokens and back, by the rules of the model's own files.

mod anchors;
mod bos;
mod cleanup;
mod sentencepiece;
mod settings;
mod text;

pub use sentencepiece::{PieceKind, SentencePiece};
pub(crate) use text::TextTokenizer;
