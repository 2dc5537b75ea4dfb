//! Operations on a device, behind one interface: the forward pass is written once, and knows neither the device nor how
//! an operation is computed there.

mod accuracy;
mod cascade;
mod counting;
mod cuda;
mod draw;
mod experts;
mod flash;
mod fused;
mod operations;
mod padding;
mod reference;
mod rotation;
mod to_host;
mod types;

pub(crate) use accuracy::{attention_error, attention_tolerance, different_draws, draw_seconds, norm_error};
pub(crate) use counting::Counting;
pub use counting::DeviceCounts;
pub(crate) use cuda::Cuda;
pub(crate) use draw::Warp;
pub(crate) use experts::Pairs;
pub(crate) use fused::{Fused, different_from_twins};
pub(crate) use operations::{Kernels, Part};
pub(crate) use padding::added_rows;
pub(crate) use reference::Reference;
pub(crate) use rotation::{Pairing, Rotation};
pub(crate) use to_host::ToHost;
pub(crate) use types::{Groups, RmsForm, Routes, RoutingRule, ScoreRule};
