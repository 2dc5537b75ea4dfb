//! The engine child: one process, one model, one thread that computes.

#[cfg(feature = "engine")]
mod device;
mod fetch;
mod inbox;
mod load;
mod parts;
mod serve;

pub(crate) use load::HAS_ENGINE;
#[cfg(feature = "engine")]
pub(crate) use load::{ChosenDevice, choose_device};
pub use load::{Decorate, LoadedEngine, Loading, as_loaded};
pub use parts::KEPT_PARTS;
pub use serve::{EngineOptions, run};
