//! The reference of the configuration, made from the keys: tables for the book and a schema for editors.

mod markdown;
mod schema;
mod tables;

pub use markdown::{reference_page, reference_parts};
pub use schema::schema;
pub(crate) use tables::TABLES;
