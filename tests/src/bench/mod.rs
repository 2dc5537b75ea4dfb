//! What the benchmarks share: the random model, the questions, and the Python beside which the baseline is measured.

mod options;
mod place;
mod questions;
mod random_llama;
mod self_made;
mod side_by_side;
mod transformers;
mod watch;

pub use options::Options;
pub use place::BenchFolder;
pub use questions::Questions;
pub use random_llama::RandomLlama;
pub use side_by_side::beside_transformers;
pub use transformers::Transformers;
pub use watch::{Seconds, Watch, print_ratio};
