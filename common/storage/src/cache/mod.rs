//! The folder on this node where files lie once they have been fetched.
//!
//! An entry holds the files of one location with one content each, told by size and etag: another content is another
//! entry. Files appear under their names when they are whole; before that they end in `.incomplete`. One process of a node
//! fetches an entry, the others wait; a lock ends with the process that holds it. What a process uses is never removed.

mod bound;
mod entry;
mod journal;
mod lock;
mod progress;
mod reader;
mod transfer;

pub use bound::Bound;
pub(crate) use entry::{Cache, Held, Wanted, incomplete};
pub(crate) use lock::lock_alone;
pub use progress::{Progress, ProgressLog};
pub(crate) use reader::RangeReader;
pub(crate) use transfer::{Sum, Transfer};
