//! How errors of libtorch and of the model's files become [`EngineFault`]s that a person can act on.

use compass_common::engine::EngineFault;
use std::path::Path;
use tch::TchError;

/// The first line of a libtorch error; the rest is a C++ backtrace.
pub(crate) fn first_line(error: &TchError) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or("libtorch gave no reason").to_owned()
}

/// A libtorch error while computing: another try, or another device, may succeed.
pub(crate) fn device_fault(error: &TchError) -> EngineFault {
    EngineFault::Device(format!("libtorch failed: {}", first_line(error)))
}

/// Whether there was not enough memory: less at once may do.
pub(crate) fn is_out_of_memory(error: &TchError) -> bool {
    let text = error.to_string();
    ["out of memory", "can't allocate memory", "not enough memory"].iter().any(|said| text.contains(said))
}

/// A file of the model that cannot be used: every worker would say the same.
pub(crate) fn file_fault(file: &Path, what: impl std::fmt::Display) -> EngineFault {
    EngineFault::Model(format!("{}: {what}", file.display()))
}
