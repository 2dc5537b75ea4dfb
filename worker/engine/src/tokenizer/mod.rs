//! Text to tokens and back, by the rules of the model's own files.

mod anchors;
mod backend;
mod bos;
mod class;
mod cleanup;
mod gpt2_backend;
mod kwargs;
mod sentencepiece;
mod settings;
mod special;
mod spm_backend;
mod text;
mod tiktoken_backend;
mod words;

pub use kwargs::{Side, TokenizerKwargs, pad, truncate};
pub use sentencepiece::{PieceKind, SentencePiece};
pub use text::{DecodeOptions, TextTokenizer};
