//! Keys and values of a model's sequences: one arena for each layer, reserved once, in which sequences have their own extents
//! and share the extents of their prefixes.

mod arena;
mod free_list;
mod level;
mod reserve;
mod sliding;
mod varlen;
mod varlen_calls;

pub(crate) use arena::{Arena, ExtentId, LayerKv};
pub(crate) use level::{Chain, Level, Masks, Segment, Span, chains, levels};
pub(crate) use reserve::reserve;
pub(crate) use varlen_calls::VarlenOnDevice;
