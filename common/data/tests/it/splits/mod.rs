//! Splits as a person writes them, from `[dataset.test]` in TOML to rows.

mod circular;
mod columnar;
mod columns;
mod faults;
mod fixture;
mod formats;
mod hub;
mod ranges;
