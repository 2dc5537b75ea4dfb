//! The integration tests of compass-sim, in one program: the library itself is not compiled a second time for them.

#![warn(clippy::disallowed_methods)]

mod scripts;
mod seeds;
