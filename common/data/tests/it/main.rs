//! The integration tests of compass-data, in one program.

#![warn(clippy::disallowed_methods)]

#[cfg(test)]
mod bounded_memory;
mod broken_files;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod presets;
#[cfg(test)]
mod real_files;
#[cfg(test)]
mod splits;
