//! Kernels of our own for the operations between matrix products, in bfloat16 on CUDA, and for draws: fused.cu, of which
//! fused.ptx is made.
//!
//! Their twins are the operations of [`super::Reference`]. Before they are used they are compared with them on the
//! device: where only one rounding order is possible to the bit.

mod checks;
mod driver;
mod kernels;
mod verified;

pub(crate) use checks::different_from_twins;
pub(super) use checks::lists;
pub(crate) use kernels::Fused;
