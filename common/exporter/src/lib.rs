//! Rows and configurations from the Python that a user's OpenCompass is installed in (`--python`).
//!
//! An interpreter is started only where a user names it: once for all data sets of a job that nothing else reads, and once more
//! where a configuration is beyond compass-python. A script that comes with the program (`script/`) runs OpenCompass's own
//! loaders and leaves their rows in files; the interpreter sees the machine read-only, without a network unless it was
//! asked for, where bubblewrap works, and otherwise runs as any process of the user, which is reported.
//!
//! The result of a class with its parameters is kept ([`Exporter`]), with the digests of all that was read for it: while
//! these hold, no interpreter is started. Invariants: kept results are complete, whatever ends a process at whatever moment; no
//! job begins with rows that are not all there.

mod cache;
mod child;
mod environment;
mod exporter;
mod fault;
mod limits;
mod program;
mod run_folder;
mod sandbox;
mod script;
mod session;
mod stamp;

pub use exporter::Exporter;
pub use limits::Limits;
