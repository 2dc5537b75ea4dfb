//! Operations on a device, behind one interface: the forward pass is written once, and knows neither the device nor how
//! an operation is computed there.

mod cascade;
mod counting;
mod operations;
mod padding;
mod reference;

pub(crate) use counting::Counting;
pub use counting::DeviceCounts;
pub(crate) use operations::{Kernels, Part};
pub(crate) use padding::added_rows;
pub(crate) use reference::Reference;
