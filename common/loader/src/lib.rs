//! Rows that only a loader class of OpenCompass can give, without Python: the class's own `load`, from the user's source, is
//! evaluated by compass-python, and what it gives is kept in files of JSON lines.
//!
//! Everything that an evaluation sees of the world is recorded. The rows are addressed by the class, its parameters, the source
//! files and the data files; they are taken again as long as all that was seen is still so.

mod cache;
mod host;
mod load;
mod observed;
mod pandas;
mod tables;
mod world;

pub use compass_python::Limits;
pub use load::TreeLoader;
