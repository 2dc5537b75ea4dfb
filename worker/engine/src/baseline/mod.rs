//! The usual way, to measure against: padded batches, every position of every row, logits over the whole vocabulary.
//!
//! Llama alone, in fp32 on the CPU, as OpenCompass's `HuggingFaceBaseModel` and lm-eval's `HFLM` run it through
//! transformers. No engine uses it: benchmarks do, so that both sides of a ratio stand on the same libtorch, the same
//! weights and the same machine.

mod llama;
mod padded;

pub use llama::PaddedLlama;
