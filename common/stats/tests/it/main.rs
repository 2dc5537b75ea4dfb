//! The integration tests of compass-stats, in one program.

#![warn(clippy::disallowed_methods)]

mod bits;
mod calibration;
mod goldens;
