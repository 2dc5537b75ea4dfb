//! The store that a configuration names.

use super::coordination_store::{CoordinationStore, LeaderRecord, Leadership, LeadershipStatus, Op};
use super::damage::Damage;
use super::embedded::EmbeddedStore;
use super::error::StoreError;
use super::etcd::EtcdStore;
use compass_types::ids::Epoch;
use std::time::Duration;
use tokio::sync::watch;

/// Store that a configuration names.
#[derive(Debug)]
pub enum AnyStore {
    Embedded(Box<EmbeddedStore>),
    Etcd(Box<EtcdStore>),
}

impl AnyStore {
    /// Returns whether other masters can stand by, to lead when this one is gone.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Etcd(_))
    }

    /// Forgets everything, where that is this run's alone: the ledger says by now what there is.
    pub fn discard(self) {
        if let Self::Embedded(store) = self {
            store.discard();
        }
    }

    /// Returns the name that tells this store from all others; masters that share one get the same, however they write
    /// its address.
    ///
    /// # Errors
    /// A shared store does not answer.
    pub async fn name(&self) -> Result<String, StoreError> {
        match self {
            Self::Embedded(store) => Ok(store.folder().display().to_string()),
            Self::Etcd(store) => store.name().await,
        }
    }
}

macro_rules! each {
    ($of:expr, $store:ident => $call:expr) => {
        match $of {
            AnyStore::Embedded($store) => $call,
            AnyStore::Etcd($store) => $call,
        }
    };
}

impl CoordinationStore for AnyStore {
    async fn campaign(&mut self, candidate: &str, at_least: Epoch) -> Result<Leadership, StoreError> {
        each!(self, store => store.campaign(candidate, at_least).await)
    }

    async fn resign(&mut self, leadership: &Leadership) -> Result<(), StoreError> {
        each!(self, store => store.resign(leadership).await)
    }

    fn status(&self) -> watch::Receiver<LeadershipStatus> {
        each!(self, store => store.status())
    }

    async fn leader(&self) -> Result<Option<LeaderRecord>, StoreError> {
        each!(self, store => store.leader().await)
    }

    async fn vacancy(&self) -> Result<(), StoreError> {
        each!(self, store => store.vacancy().await)
    }

    async fn commit(&mut self, leadership: &Leadership, ops: Vec<Op>) -> Result<(), StoreError> {
        each!(self, store => store.commit(leadership, ops).await)
    }

    fn damaged(&self, damage: Damage) -> StoreError {
        each!(self, store => store.damaged(damage))
    }

    fn gathering(&self) -> Duration {
        each!(self, store => store.gathering())
    }

    async fn scan(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        each!(self, store => store.scan(prefix, after, limit).await)
    }
}
