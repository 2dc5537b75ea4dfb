//! Loader classes evaluated here, beside what CPython makes of them.

#![warn(clippy::disallowed_methods)]

#[cfg(test)]
mod rows;
