//! SentencePiece `.model` files, encoded and decoded exactly as the SentencePiece library does.
//!
//! Special tokens, BOS and the habits of Hugging Face classes are not here: they stand one level up.

mod bpe;
mod charsmap;
mod decode;
mod model;
mod normalize;
mod proto;
mod trie;
mod unigram;
mod vocabulary;

pub use model::SentencePiece;
pub use vocabulary::PieceKind;
