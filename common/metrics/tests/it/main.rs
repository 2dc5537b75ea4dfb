//! Every metric against what the peers' own packages printed: `tests/goldens/metric/*.json`, made by `make/make.py`.

#![warn(clippy::disallowed_methods)]

#[cfg(test)]
mod choice;
#[cfg(test)]
mod equal;
#[cfg(test)]
mod equal_properties;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod instruction;
#[cfg(test)]
mod math;
mod math_verify;
#[cfg(test)]
mod merge;
#[cfg(test)]
mod option;
#[cfg(test)]
mod overlap;
#[cfg(test)]
mod rouge;
#[cfg(test)]
mod statistics;
#[cfg(test)]
mod translation;
