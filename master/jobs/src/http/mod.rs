//! The port of the pages as the configuration describes it: address, token, certificate.

pub(crate) mod access;
pub(crate) mod secrets;
pub(crate) mod settings;
pub(crate) mod tls;
