//! Integration tests of model families and checkpoint formats: compared with transformers' logits, without tokenizers
//! or data sets.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod absurd;
mod adapters;
mod budget;
mod damaged;
mod goldens;
mod layouts;
mod packed;
mod pickles;
mod spread;
mod support;
mod together;
mod version_5;
