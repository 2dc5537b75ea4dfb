//! Loader classes evaluated here, beside what CPython makes of them.

#[cfg(test)]
mod rows;
