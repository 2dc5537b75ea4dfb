//! The lease store: who leads, the epoch, the attempts, and how much of each ledger segment exists.
//!
//! It alone says who leads; it never says which samples are done (the ledger does). One trait, several backends.

mod any_store;
mod assignment_log;
mod backend;
mod coordination_store;
mod damage;
mod embedded;
mod error;
mod etcd;
mod fenced;
mod keys;
mod run_record;
mod shared_term;
mod shared_value;
mod sim;
mod sim_store;
mod term;
mod transaction;

pub use any_store::AnyStore;
pub use assignment_log::{AssignmentPage, AssignmentRecord, current_assignments};
pub use backend::{Backend, Trouble};
pub use coordination_store::{CoordinationStore, LeaderRecord, Leadership, LeadershipStatus, Op};
pub use damage::Damage;
pub use embedded::EmbeddedStore;
pub use error::StoreError;
pub use etcd::{EtcdBackend, EtcdStore};
pub use fenced::{FencedStore, StoreTimeouts};
pub use keys::Keys;
pub use run_record::RunRecord;
pub use shared_value::{BackendValue, FileValue, SharedValue};
pub use sim::{Fate, SimStore, SimTrouble};
pub use sim_store::{SimBackend, SimWorld};
pub use term::nonce as unique_mark;
pub use term::{Campaigned, Candidacy, CommitOutcome, Names, Part, Term};
pub use transaction::{Compare, MAX_OPS, Reply, Step, StoredKey, Transaction};
