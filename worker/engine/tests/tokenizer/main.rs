//! Tokenizers and chat templates against what their own libraries gave: small goldens that the scripts in `goldens/` write.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod chat;
mod sentencepiece;
mod support;
mod tiktoken;
mod transformers;
mod words;
