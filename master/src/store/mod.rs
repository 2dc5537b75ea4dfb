//! The lease store: who leads, the epoch, the attempts, and how much of each ledger segment exists.
//!
//! It alone says who leads; it never says which samples are done (the ledger does). One trait, several backends.

mod embedded;
mod holding;
mod keys;
mod lease_store;

pub use embedded::EmbeddedStore;
pub use holding::Holding;
pub use keys::{AttemptKey, Keys};
pub use lease_store::{Leadership, LeaseStore, Op, StoreError};
