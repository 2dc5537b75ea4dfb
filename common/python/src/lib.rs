//! Configurations written in Python, evaluated without Python.
//!
//! The grammar is ruff's; what walks the tree is ours, because three things are wanted together that no interpreter has: the
//! place in the file of every value (so that every later check of a configuration can point at it), the aliasing of `mmengine`
//! (objects are shared inside a file and copied at each `read_base` import), and limits that no file can exceed.
//!
//! It is a part of Python: the statements, expressions, built-in functions and modules that configurations of evaluations use.
//! Whatever else is imported is a *symbol*, a dotted name that can be compared and passed on; calling one is an error at its
//! place. Nothing is read, run or looked up but through [`Host`].

mod brackets;
mod error;
mod evaluate;
mod host;
mod library;
mod limits;
mod methods;
mod misplaced;
mod modules;
mod nesting;
mod node;
mod object;
mod place;
mod run;
mod symbols;
mod syntax;
mod value;

pub use compass_types::function::Limits;
pub use error::PythonError;
pub use host::{Host, Imported};
pub use library::{
    FileFault, FileKind, Library, LibraryCall, LibraryFault, LibraryLoad, LibrarySource, LoadedSplit, Modules,
    TableRequest, Tables, link_interpreter, load_rows, trace_function,
};
pub use node::{Node, Plain};
pub use place::{FileId, Place, SourceFile};
pub use run::{Evaluation, evaluate};
