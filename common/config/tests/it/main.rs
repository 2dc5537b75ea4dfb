//! The integration tests of compass-config, in one program.

#![warn(clippy::disallowed_methods)]

#[cfg(test)]
mod functions;
#[cfg(test)]
mod meta_templates;
mod reference;
