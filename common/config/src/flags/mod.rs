//! The command line over the file.

pub(crate) mod checkpoint;
pub(crate) mod command_line;
pub(crate) mod custom_dataset;
pub(crate) mod data_cache;
pub(crate) mod launcher_fit;
pub(crate) mod overrides;
