//! Passes over the tree before it is read: includes, inheritance, repetition, selection.

pub(crate) mod for_each;
pub(crate) mod include;
pub(crate) mod inherit;
pub(crate) mod inherit_preset;
pub(crate) mod selection;
