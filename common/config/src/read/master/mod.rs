//! `[master]`: addresses, the store, the port of the pages.

pub(crate) mod addresses;
pub(crate) mod http;
pub(crate) mod store;
