//! The conventional method, as a baseline: padded batches, every position of every row, logits over the whole
//! vocabulary.
//!
//! Llama only, in fp32 on the CPU, as OpenCompass's `HuggingFaceBaseModel` and lm-eval's `HFLM` run it through
//! transformers. Used by benchmarks only, so that both sides of a ratio have the same libtorch, weights and machine.

mod llama;
mod padded;

pub use llama::PaddedLlama;
