//! The lease store over a backend with revisions and leases: campaigns and commits, tried again until their fate is known.

use super::backend::{Backend, Trouble};
use super::coordination_store::{CoordinationStore, LeaderRecord, Leadership, LeadershipStatus, Op};
use super::damage::Damage;
use super::error::StoreError;
use super::shared_term::SharedTerm;
use super::term::{Campaigned, Candidacy, CommitOutcome, Names, leader, nonce};
use super::transaction::MAX_OPS;
use compass_common::backoff;
use compass_types::ids::Epoch;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Longest time without an answer before the store counts as away: a cluster that has lost one member elects another
/// leader, and answers again within some seconds.
const AWAY: Duration = Duration::from_secs(6);

/// Longest times that things may take. The lease is what others wait for when a leader dies.
#[derive(Clone, Copy, Debug)]
pub struct StoreTimeouts {
    /// Time to live of the leader's lease.
    pub lease: Duration,
    /// Longest time for which a campaign, or a scan without the lead, asks a store that does not answer.
    pub request: Duration,
    /// Longest time for which a leader asks the store, to write and to read. The run can be resumed afterwards.
    pub commit: Duration,
}

impl StoreTimeouts {
    /// The timeout with a store that answered before in this run: what was computed by now is worth waiting for.
    pub fn in_mid_run() -> Self {
        let whole = Self::default();
        Self { request: whole.commit, ..whole }
    }
}

impl Default for StoreTimeouts {
    fn default() -> Self {
        Self { lease: Duration::from_secs(5), request: Duration::from_secs(6), commit: Duration::from_secs(600) }
    }
}

/// Coordination store that fences every write by the leadership term.
#[derive(Debug)]
pub struct FencedStore<B> {
    backend: B,
    root: String,
    names: Names,
    timeouts: StoreTimeouts,
    shared: Arc<SharedTerm>,
    /// Ends the keeper when this store is dropped.
    _alive: watch::Sender<()>,
}

impl<B: Backend> FencedStore<B> {
    /// A store whose lead lies at `place` below `prefix` (no slashes around either). `alive` is dropped with the store.
    pub(super) fn over(
        backend: B,
        prefix: &str,
        place: &str,
        timeouts: StoreTimeouts,
        shared: Arc<SharedTerm>,
        alive: watch::Sender<()>,
    ) -> Self {
        let root = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let names = Names::below(&format!("{root}{place}/"));
        Self { backend, root, names, timeouts, shared, _alive: alive }
    }

    /// Returns the name that tells it from other stores: its cluster, and the place in it.
    pub(super) async fn name(&self) -> Result<String, StoreError> {
        let cluster = self.persist(self.timeouts.commit, || self.backend.cluster()).await.map_err(plain)?;
        Ok(format!("etcd cluster {cluster:x} below `{}`", self.root))
    }

    /// The same writes where the keys of this store lie.
    fn below_root(&self, ops: Vec<Op>) -> Vec<Op> {
        let place = |key: String| format!("{}{key}", self.root);
        let place = |op| match op {
            Op::Put { key, value } => Op::Put { key: place(key), value },
            Op::Delete { key } => Op::Delete { key: place(key) },
        };
        ops.into_iter().map(place).collect()
    }

    /// The error of a damaged key that is named in full.
    fn below(&self, Damage { key, expected, then }: Damage) -> StoreError {
        StoreError::DamagedKey { endpoints: self.backend.endpoints().to_owned(), key, expected, then }
    }

    /// The leader's key as it stands.
    async fn leader_key(&self, timeout: Duration) -> Result<Option<LeaderRecord>, StoreError> {
        let key = &self.names.leader;
        let found = self.persist(timeout, || self.backend.range(key, None, 1)).await.map_err(plain)?;
        let found = found.into_iter().find(|entry| entry.key == *key);
        found.map(|entry| leader(&entry).ok_or_else(|| self.below(Damage::leader(key)))).transpose()
    }

    /// Asks until there is an answer, or `timeout` is at its end. The first further try comes at once.
    async fn persist<T, F>(&self, timeout: Duration, mut ask: impl FnMut() -> F) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, Trouble>>,
    {
        let begin = Instant::now();
        let mut pauses = std::iter::once(Duration::ZERO).chain(backoff::policy(SHORTEST_PAUSE, LONGEST_PAUSE));
        loop {
            match ask().await {
                Err(Trouble::NoReply(error)) if begin.elapsed() < timeout && !self.shared.is_lost() => {
                    tracing::debug!(%error, "the store gave no answer; asking again");
                    if begin.elapsed() > AWAY {
                        self.shared.doubt(&error);
                    }
                    tokio::time::sleep(pauses.next().unwrap_or(LONGEST_PAUSE)).await;
                }
                other => return other,
            }
        }
    }
}

fn plain(trouble: Trouble) -> StoreError {
    match trouble {
        Trouble::NoReply(error) | Trouble::Final(error) => error,
        Trouble::LeaseGone => StoreError::Rejected { endpoints: "its members".into(), source: Box::new(trouble) },
    }
}

impl<B: Backend> CoordinationStore for FencedStore<B> {
    async fn campaign(&mut self, candidate: &str, at_least: Epoch) -> Result<Leadership, StoreError> {
        let mut candidacy = Candidacy::new(self.names.clone(), candidate, &nonce(candidate), at_least);
        let wait = self.timeouts.request;
        'lease: loop {
            let lease = self.persist(wait, || self.backend.grant(self.timeouts.lease)).await.map_err(plain)?;
            loop {
                let request = candidacy.transaction(lease);
                let reply = match self.persist(wait, || self.backend.transact(&request)).await {
                    // This process was stopped for longer than a lease lasts.
                    Err(Trouble::LeaseGone) => continue 'lease,
                    other => other.map_err(plain)?,
                };
                match candidacy.judge(lease, &reply) {
                    Campaigned::Won(term) => {
                        let epoch = term.epoch();
                        self.shared.begin(term);
                        return Ok(Leadership { epoch });
                    }
                    Campaigned::Held(holder) => {
                        let _ = self.backend.revoke(lease).await;
                        return Err(StoreError::Held { holder });
                    }
                    Campaigned::Again => {}
                    Campaigned::Damaged(damage) => {
                        let _ = self.backend.revoke(lease).await;
                        return Err(self.below(damage));
                    }
                }
            }
        }
    }

    async fn resign(&mut self, leadership: &Leadership) -> Result<(), StoreError> {
        if self.shared.current().is_none_or(|term| term.epoch() != leadership.epoch) {
            return Ok(());
        }
        let Some(term) = self.shared.end() else { return Ok(()) };
        let request = term.resignation();
        self.persist(self.timeouts.request, || self.backend.transact(&request)).await.map_err(plain)?;
        self.backend.revoke(term.lease()).await.map_err(plain)
    }

    fn status(&self) -> watch::Receiver<LeadershipStatus> {
        self.shared.status()
    }

    async fn leader(&self) -> Result<Option<LeaderRecord>, StoreError> {
        self.leader_key(self.timeouts.request).await
    }

    async fn vacancy(&self) -> Result<(), StoreError> {
        loop {
            // A record that cannot be read, or has no lease to end with, would be waited for indefinitely.
            if self.leader_key(self.timeouts.commit).await?.is_none() {
                return Ok(());
            }
            match self.backend.vanished(&self.names.leader).await {
                Ok(()) => {}
                Err(Trouble::Final(error)) => return Err(error),
                // A broken watch is no news: look again, not too often.
                Err(_) => tokio::time::sleep(LONGEST_PAUSE / 4).await,
            }
        }
    }

    async fn commit(&mut self, leadership: &Leadership, ops: Vec<Op>) -> Result<(), StoreError> {
        if ops.len() > MAX_OPS {
            return Err(StoreError::TooLarge(ops.len()));
        }
        let ops = self.below_root(ops);
        let fenced = || self.shared.fenced(leadership.epoch);
        loop {
            let Some(term) = self.shared.current().filter(|term| term.epoch() == leadership.epoch) else {
                return Err(fenced());
            };
            let request = term.commit(&ops);
            let reply = match self.persist(self.timeouts.commit, || self.backend.transact(&request)).await {
                Err(_) if self.shared.is_lost() => return Err(fenced()),
                other => other.map_err(plain)?,
            };
            match self.shared.judge(|term| term.judge(&reply)) {
                CommitOutcome::Durable => return Ok(()),
                CommitOutcome::Again => {}
                CommitOutcome::Over => return Err(fenced()),
                CommitOutcome::Damaged(part) => return Err(self.below(self.names.damage(part))),
                CommitOutcome::Lapsed => {
                    let retaken =
                        self.persist(self.timeouts.commit, || self.shared.reassert(&self.backend, self.timeouts.lease));
                    match retaken.await {
                        Ok(()) | Err(Trouble::LeaseGone) => {}
                        Err(trouble) => return Err(plain(trouble)),
                    }
                }
            }
        }
    }

    fn damaged(&self, damage: Damage) -> StoreError {
        self.below(Damage { key: format!("{}{}", self.root, damage.key), ..damage })
    }

    fn gathering(&self) -> Duration {
        self.backend.gathering()
    }

    async fn scan(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let (prefix, after) = (format!("{}{prefix}", self.root), after.map(|key| format!("{}{key}", self.root)));
        let ask = || self.backend.range(&prefix, after.as_deref(), limit);
        let leads = self.shared.current().is_some();
        let timeout = if leads { self.timeouts.commit } else { self.timeouts.request };
        let found = self.persist(timeout, ask).await.map_err(plain)?;
        if leads {
            self.shared.stand(LeadershipStatus::Sure);
        }
        let strip = |key: String| key.strip_prefix(&self.root).map(str::to_owned).unwrap_or(key);
        Ok(found.into_iter().map(|entry| (strip(entry.key), entry.value)).collect())
    }
}
