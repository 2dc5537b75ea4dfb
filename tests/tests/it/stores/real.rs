//! The suite on a real etcd: how its benches open, die and lapse.

use crate::stores::suite::Bench;
use compass_settings::EtcdConfig;
use compass_store::{CoordinationStore, EtcdStore, Keys, StoreError, StoreTimeouts};
use compass_tests::{Mood, Proxy};
use compass_types::ids::Digest;
use etcd_client::Client;
use std::cell::RefCell;
use std::time::{Duration, SystemTime};
use tokio::sync::watch;

/// Short leases: what waits for their end waits often.
pub(crate) const TIMEOUTS: StoreTimeouts =
    StoreTimeouts { lease: Duration::from_secs(2), request: Duration::from_secs(20), commit: Duration::from_secs(100) };

/// The store at `endpoints`, joined by commas, below a prefix that no other run of the tests has.
pub(crate) fn config(endpoints: &str) -> EtcdConfig {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    EtcdConfig {
        endpoints: endpoints.split(',').map(str::to_owned).collect(),
        prefix: format!("compass-tests/{}-{now}", std::process::id()),
        ..EtcdConfig::default()
    }
}

/// Number of durable commits.
pub(crate) struct Commits(watch::Receiver<usize>);

impl Commits {
    /// The count, and what tells it.
    pub(crate) fn counted() -> (watch::Sender<usize>, Self) {
        let (told, heard) = watch::channel(0);
        (told, Self(heard))
    }

    /// Waits for this many more. The one that is under way is not among them.
    pub(crate) async fn more(&mut self, many: usize) {
        let least = *self.0.borrow() + 1 + many;
        self.0.wait_for(|count| *count >= least).await.unwrap();
    }
}

/// A cluster; every store reaches it through proxies of its own, so that its master can be cut off.
pub(crate) struct Cluster {
    config: EtcdConfig,
    proxies: RefCell<Vec<Proxy>>,
}

impl Cluster {
    pub(crate) fn at(endpoints: &str) -> Self {
        Self { config: config(endpoints), proxies: RefCell::default() }
    }

    /// The cases of the suite use the same keys: each job has a place of its own.
    fn place(&self, job: &Digest) -> EtcdConfig {
        EtcdConfig { prefix: format!("{}/{}", self.config.prefix, job.short()), ..self.config.clone() }
    }

    /// A plain client, and a key of the term of `job`.
    async fn key(&self, job: &Digest, name: &str) -> (Client, String) {
        let client = Client::connect(&self.config.endpoints, None).await.unwrap();
        (client, format!("{}/{}/{name}", self.place(job).prefix, Keys::place(job)))
    }

    /// Waits until no master leads the job, as seen without a proxy.
    async fn vacant(&self, job: &Digest) {
        EtcdStore::open(&self.place(job), job, TIMEOUTS).unwrap().vacancy().await.unwrap();
    }
}

impl Bench for Cluster {
    type Store = EtcdStore;

    fn open(&self, job: &Digest) -> Result<Self::Store, StoreError> {
        let proxies: Vec<Proxy> = self.config.endpoints.iter().map(|member| Proxy::start(member)).collect();
        let endpoints = proxies.iter().map(Proxy::address).collect();
        self.proxies.borrow_mut().extend(proxies);
        EtcdStore::open(&EtcdConfig { endpoints, ..self.place(job) }, job, TIMEOUTS)
    }

    async fn die(&self, job: &Digest, store: Self::Store) {
        // Nothing keeps the lease any more, and no leader resigned.
        drop(store);
        self.vacant(job).await;
    }

    async fn lapse(&self, job: &Digest) {
        self.proxies.borrow().iter().for_each(|proxy| proxy.set(Mood::HalfOpen));
        self.vacant(job).await;
    }

    fn wake(&self) {
        self.proxies.borrow().iter().for_each(|proxy| proxy.set(Mood::Pass));
    }

    async fn spoil(&self, job: &Digest, name: &str, value: &str) {
        let (mut client, key) = self.key(job, name).await;
        // A key that is made again: its revision is the fence.
        client.delete(key.as_str(), None).await.unwrap();
        client.put(key, value, None).await.unwrap();
    }

    async fn unspoil(&self, job: &Digest, name: &str) {
        let (mut client, key) = self.key(job, name).await;
        client.delete(key, None).await.unwrap();
    }

    fn is_shared(&self) -> bool {
        true
    }
}
