//! The benchmarks' common parts: the random model, the questions, the baseline and the Python beside which it is measured.

mod options;
#[cfg(feature = "engine")]
mod padded_batch;
#[cfg(feature = "engine")]
mod padded_llama;
mod place;
mod questions;
mod random_llama;
mod self_made;
mod side_by_side;
mod transformers;
mod watch;

pub use options::Options;
#[cfg(feature = "engine")]
pub use padded_llama::PaddedLlama;
pub use place::BenchFolder;
pub use questions::Questions;
pub use random_llama::RandomLlama;
pub use side_by_side::beside_transformers;
pub use transformers::Transformers;
pub use watch::{Seconds, Watch, print_ratio};
