//! The integration tests of compass-plan, in one program.

#[cfg(test)]
mod kinds;
mod partition_goldens;
#[cfg(test)]
mod prompts;
