//! Postprocessors: pure functions from the text of an answer to the answer.

mod apply;
mod general;
mod gsm8k;
mod kind;
mod python;

pub use apply::{apply, apply_all};
pub use general::general;
pub use gsm8k::{NO_NUMBER, gsm8k, gsm8k_dataset};
pub use kind::Postprocessor;
pub use python::{float, int, is_space, is_word};
