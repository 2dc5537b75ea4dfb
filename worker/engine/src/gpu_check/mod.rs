//! Measurements of a machine's device and this engine: the sections of `compass-worker gpu-check`.
//!
//! Everything goes through the engine's own interface ([`compass_plan::engine::Engine`]), but for products of matrices. A
//! section measures and judges; it never guesses: a thing that cannot be measured here is reported as skipped, with the reason.

mod busy;
mod configuration;
mod decode;
mod end_to_end;
mod environment;
mod families;
mod finding;
mod gemm;
mod invariance;
mod job;
mod kernels;
mod load;
mod memory;
mod out_of_memory;
mod prefill;
mod section;
mod setup;
mod transformers;
mod workload;

pub use configuration::{RANDOM_CONFIGS, RandomConfig};
pub use finding::{CheckStatus, Finding};
pub use section::{Section, run_section};
pub use setup::CheckSetup;
