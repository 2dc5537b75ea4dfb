//! Identity of weights: a digest of their content, the same for every copy wherever it lies.
//!
//! [`WeightsDigest`] names a checkpoint with its configuration and tokenizer; [`mark`] is its part for one file;
//! [`files`] says which files of a directory belong to it. Neither time stamps nor paths are in it.

pub mod adapter;
pub mod files;
mod manifest;
mod mark;
mod quantised;
mod sampled;
mod size;

pub use files::read;
pub use manifest::{FileMark, Pin, WeightsDigest};
pub use mark::{Content, DigestExtent, mark};
pub use quantised::Fp8;
pub use size::shown_size;
