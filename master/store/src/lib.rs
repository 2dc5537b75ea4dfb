//! The lease store: who leads, the epoch, the attempts, and how much of each ledger segment exists.
//!
//! It alone says who leads; it never says which samples are done (the ledger does). One trait, several backends.

mod any_store;
mod backend;
mod damage;
mod embedded;
mod error;
mod etcd;
mod fenced;
mod keys;
mod lease;
mod lease_store;
mod reign;
mod run_record;
mod shared_reign;
mod shared_value;
mod sim;
mod sim_store;
mod transaction;

pub use any_store::AnyStore;
pub use backend::{Backend, Trouble};
pub use damage::Damage;
pub use embedded::EmbeddedStore;
pub use error::StoreError;
pub use etcd::{EtcdBackend, EtcdStore};
pub use fenced::{FencedStore, Patience};
pub use keys::Keys;
pub use lease::{Lease, LeasePage, leases_that_count};
pub use lease_store::{Leader, Leadership, LeaseStore, Op, Standing};
pub use reign::nonce as unique_mark;
pub use reign::{Campaigned, Candidacy, MAX_OPS, Names, Outcome, Part, Reign};
pub use run_record::RunRecord;
pub use shared_value::{BackendValue, FileValue, SharedValue};
pub use sim::{Fate, SimStore, SimTrouble};
pub use sim_store::{SimBackend, SimWorld};
pub use transaction::{Compare, Entry, Reply, Step, Transaction};
