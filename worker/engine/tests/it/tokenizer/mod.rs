//! Tokenizers compared with their own libraries: small goldens written by the scripts in `goldens/`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod sentencepiece;
mod support;
mod tiktoken;
mod transformers;
mod words;
