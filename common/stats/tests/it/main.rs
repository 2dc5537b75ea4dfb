//! The integration tests of compass-stats, in one program.

mod bits;
mod calibration;
mod goldens;
