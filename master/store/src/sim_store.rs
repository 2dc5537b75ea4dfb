//! The simulated store as a lease store: a clock that its owner moves, and faults by seed.

use super::backend::{Backend, Trouble};
use super::error::StoreError;
use super::fenced::{FencedStore, StoreTimeouts};
use super::keys::Keys;
use super::shared_term::SharedTerm;
use super::sim::{Fate, SimStore, SimTrouble};
use super::transaction::{Reply, StoredKey, Transaction};
use compass_types::ids::Digest;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// A store with its clock, in the hands of several masters.
#[derive(Clone, Debug, Default)]
pub struct SimWorld {
    inner: Arc<Mutex<World>>,
}

#[derive(Debug, Default)]
struct World {
    store: SimStore,
    now: u64,
    /// Number of requests lost in 1000, and equally of replies.
    loss: u64,
    dice: u64,
}

/// One master's way to a [`SimWorld`].
#[derive(Clone, Debug)]
pub struct SimBackend(SimWorld);

impl SimWorld {
    /// A world in which so many of 1000 requests are lost, and as many replies.
    pub fn with_loss(loss: u64, seed: u64) -> Self {
        let world = World { loss, dice: seed.wrapping_mul(2) + 1, ..World::default() };
        Self { inner: Arc::new(Mutex::new(world)) }
    }

    fn lock(&self) -> MutexGuard<'_, World> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets time pass.
    pub fn pass(&self, time: Duration) {
        self.lock().now += time.as_millis() as u64;
    }

    /// Looks at the store itself.
    pub fn inspect<T>(&self, look: impl FnOnce(u64, &mut SimStore) -> T) -> T {
        let mut world = self.lock();
        let now = world.now;
        look(now, &mut world.store)
    }

    /// Single requests to this world.
    pub fn backend(&self) -> SimBackend {
        SimBackend(self.clone())
    }

    /// A lease store of this world for the job of this plan.
    pub fn open(&self, prefix: &str, job: &Digest, timeouts: StoreTimeouts) -> FencedStore<SimBackend> {
        // Nothing keeps the lease: simulated time passes only when it is told to.
        let (shared, alive) = (SharedTerm::new(), watch::Sender::new(()));
        FencedStore::over(SimBackend(self.clone()), prefix, &Keys::place(job), timeouts, shared, alive)
    }
}

impl World {
    /// xorshift64: the same seed, the same losses.
    fn fate(&mut self) -> Fate {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        match self.dice % 1000 {
            drawn if drawn < self.loss => Fate::RequestLost,
            drawn if drawn < 2 * self.loss => Fate::ReplyLost,
            _ => Fate::Arrives,
        }
    }
}

fn unheard() -> Trouble {
    Trouble::NoReply(StoreError::Unreachable { endpoints: "memory".into(), source: Box::new(SimTrouble::NoReply) })
}

impl Backend for SimBackend {
    async fn transact(&self, request: &Transaction) -> Result<Reply, Trouble> {
        let mut world = self.0.lock();
        let (now, fate) = (world.now, world.fate());
        world.store.transact(now, fate, request).map_err(|trouble| match trouble {
            SimTrouble::NoReply => unheard(),
            SimTrouble::LeaseGone => Trouble::LeaseGone,
        })
    }

    async fn range(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<StoredKey>, Trouble> {
        Ok(self.0.inspect(|now, store| store.range(now, prefix, after, limit)))
    }

    async fn grant(&self, ttl: Duration) -> Result<i64, Trouble> {
        Ok(self.0.inspect(|now, store| store.grant(now, ttl.as_millis() as u64)))
    }

    async fn keep_alive(&self, lease: i64) -> Result<bool, Trouble> {
        Ok(self.0.inspect(|now, store| store.keep_alive(now, lease)))
    }

    async fn revoke(&self, lease: i64) -> Result<(), Trouble> {
        self.0.inspect(|now, store| store.revoke(now, lease));
        Ok(())
    }

    async fn vanished(&self, key: &str) -> Result<(), Trouble> {
        while self.0.inspect(|now, store| store.get(now, key)).is_some() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    async fn cluster(&self) -> Result<u64, Trouble> {
        Ok(0)
    }

    fn endpoints(&self) -> &str {
        "memory"
    }

    fn gathering(&self) -> Duration {
        Duration::ZERO
    }
}
