//! Scripts in place of tests of real processes, one file per family: each asserts what a core decides, and names the mutant on
//! which it fails. What a shell does (messages, exit codes, signals, files, etcd) is tested with processes.

mod all;
mod devices;
mod duplicates;
mod faults;
mod moved;
mod offline;
mod placement;
mod results;
mod serve;
mod standby;

pub use all::SCRIPTS;
pub use moved::Moved;
