//! SentencePiece `.model` files, encoded and decoded exactly as by the SentencePiece library.
//!
//! Special tokens, BOS and the defaults of Hugging Face classes are one level up.

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
