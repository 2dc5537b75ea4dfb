//! The integration tests of compass-config, in one program.

#[cfg(test)]
mod meta_templates;
mod reference;
