//! Keys of the configuration, as their tables declare them: each table stands beside what reads it.

mod key;
#[cfg(test)]
mod tests;
pub(crate) mod vocabulary;

pub(crate) use key::{Key, Kind, LENGTH, Standing, TableKeys, TypeKeys, hidden, ignored, key, later};
