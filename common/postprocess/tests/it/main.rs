//! The integration tests of compass-postprocess, in one program.

#[cfg(test)]
mod postprocess_goldens;
