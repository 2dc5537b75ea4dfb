//! The graph of a package's source files: an arrow leads from a file that names an item to the file that defines it, through all
//! re-exports. Test code is left out. What holds no import cycle can be read from the ground up, and cut where an arrow is.

mod circles;
mod resolve;
mod source;

pub use circles::circles;
pub use resolve::{Arrow, arrows};
pub use source::{Module, Package};
