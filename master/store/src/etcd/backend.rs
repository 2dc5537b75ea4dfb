//! Single requests to etcd.

use super::pool::Pool;
use super::translate::{end_of, entry, reply, request};
use super::trouble::sort;
use crate::backend::{Backend, Trouble};
use crate::fenced::FencedStore;
use crate::transaction::{Reply, StoredKey, Transaction};
use etcd_client::{EventType, GetOptions, WatchOptions};
use std::sync::Arc;
use std::time::Duration;

/// A lease store in etcd; see [`EtcdStore::open`].
pub type EtcdStore = FencedStore<EtcdBackend>;

/// One transaction per so long: a group of writes costs etcd what a single one does.
const GATHERING: Duration = Duration::from_millis(5);
/// Longest time for which a watch is believed that says nothing.
const RELIST: Duration = Duration::from_secs(10);

/// Sends single requests to etcd.
#[derive(Clone, Debug)]
pub struct EtcdBackend {
    pool: Arc<Pool>,
}

impl EtcdBackend {
    pub(super) fn over(pool: Pool) -> Self {
        Self { pool: Arc::new(pool) }
    }
}

impl Backend for EtcdBackend {
    async fn transact(&self, transaction: &Transaction) -> Result<Reply, Trouble> {
        let answer = self.pool.ask(|mut client| async move { client.txn(request(transaction)).await });
        Ok(reply(&answer.await?))
    }

    async fn range(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<StoredKey>, Trouble> {
        // The least key behind `after` is `after` and a zero byte.
        let from = after.map_or_else(|| prefix.as_bytes().to_vec(), |key| [key.as_bytes(), &[0]].concat());
        let ask = |mut client: etcd_client::Client| {
            let options = GetOptions::new().with_range(end_of(prefix)).with_limit(limit as i64);
            let from = from.clone();
            async move { client.get(from, Some(options)).await }
        };
        let found = self.pool.ask(ask).await?;
        Ok(found.kvs().iter().map(entry).collect())
    }

    async fn grant(&self, ttl: Duration) -> Result<i64, Trouble> {
        let seconds = ttl.as_secs().max(1) as i64;
        Ok(self.pool.ask(|mut client| async move { client.lease_grant(seconds, None).await }).await?.id())
    }

    async fn keep_alive(&self, lease: i64) -> Result<bool, Trouble> {
        // A stream for every beat: a broken one is then no state to mend. The first answer comes with it.
        match self.pool.ask(|mut client| async move { client.lease_keep_alive(lease).await.map(drop) }).await {
            Ok(()) => Ok(true),
            Err(Trouble::LeaseGone) => Ok(false),
            Err(other) => Err(other),
        }
    }

    async fn revoke(&self, lease: i64) -> Result<(), Trouble> {
        match self.pool.ask(|mut client| async move { client.lease_revoke(lease).await.map(drop) }).await {
            Err(Trouble::LeaseGone) => Ok(()),
            other => other,
        }
    }

    async fn vanished(&self, key: &str) -> Result<(), Trouble> {
        let mut client = self.pool.patient().await?;
        let failed = |error| sort(&error, &self.pool.shown);
        let now = self.pool.ask(|mut client| async move { client.get(key, None).await }).await?;
        if now.kvs().is_empty() {
            return Ok(());
        }
        let from = now.header().map_or(0, etcd_client::ResponseHeader::revision) + 1;
        let watch = async {
            let options = WatchOptions::new().with_start_revision(from);
            let mut stream = client.watch(key, Some(options)).await.map_err(failed)?;
            // The end of a watch, also one whose start was compacted away, is a reason to look again.
            while let Some(news) = stream.message().await.map_err(failed)? {
                let gone = news.events().iter().any(|event| event.event_type() == EventType::Delete);
                if gone || news.canceled() {
                    break;
                }
            }
            Ok(())
        };
        tokio::time::timeout(RELIST, watch).await.unwrap_or(Ok(()))
    }

    async fn cluster(&self) -> Result<u64, Trouble> {
        let found = self.pool.ask(|mut client| async move { client.get("cluster", None).await }).await?;
        Ok(found.header().map_or(0, etcd_client::ResponseHeader::cluster_id))
    }

    fn endpoints(&self) -> &str {
        &self.pool.shown
    }

    fn gathering(&self) -> Duration {
        GATHERING
    }
}
