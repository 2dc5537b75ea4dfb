//! The integration tests of compass-plan, in one program.

#![warn(clippy::disallowed_methods)]

#[cfg(test)]
mod groups;
#[cfg(test)]
mod kinds;
mod partition_goldens;
#[cfg(test)]
mod prompts;
