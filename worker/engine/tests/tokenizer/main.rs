//! Tokenizers and chat templates against what their own libraries gave: small goldens that `goldens/make.py` writes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod sentencepiece;
mod support;
mod transformers;
