//! The agent's side of its engine children.

mod child;
mod order;
mod sent_parts;
mod slot;

pub use order::{ModelOrder, PackEnd, PackOrder, PartOrder, SlotEvent};
pub use slot::{Slot, SlotReport};
