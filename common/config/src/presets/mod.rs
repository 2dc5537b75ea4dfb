//! Data sets and models that ship with the program under OpenCompass's names.

pub(crate) mod data_sets;
mod families;
pub(crate) mod later;
pub(crate) mod loaders;
pub(crate) mod models;
