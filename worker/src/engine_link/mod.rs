//! The agent's side of its engine children.

mod child;
pub(crate) mod cuda_environment;
mod gpus;
mod sent_parts;
mod slot;

pub use gpus::{Gpus, count_gpus};
pub use slot::Slot;
