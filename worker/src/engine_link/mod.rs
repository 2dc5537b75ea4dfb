//! The agent's side of its engine children.

mod child;
mod cuda_environment;
mod gpus;
mod order;
mod sent_parts;
mod slot;

pub use gpus::{Gpus, count_gpus};
pub use order::{ModelOrder, PackEnd, PackOrder, PartOrder, SlotEvent};
pub use slot::{Slot, SlotReport};
