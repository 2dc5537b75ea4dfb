//! A store in memory with etcd's semantics: revisions, leases, transactions. No clock and no chance of its own: time is
//! an argument, in milliseconds, and so is whether a request or its reply is lost.

use super::transaction::{Compare, Reply, Step, StoredKey, Transaction};
use std::collections::BTreeMap;
use std::ops::Bound;

/// Fate of a request on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    #[default]
    Arrives,
    /// It never arrives; the sender sees a timeout.
    RequestLost,
    /// It is applied, and the sender sees a timeout all the same.
    ReplyLost,
}

/// Reason for which a transaction has no reply that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimTrouble {
    /// The sender heard nothing: the request may have been applied.
    #[error("no reply within the time of a request")]
    NoReply,
    /// A step names a lease that does not exist; nothing was done.
    #[error("requested lease not found")]
    LeaseGone,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    ttl: u64,
    /// Time at which it runs out.
    ends: u64,
}

/// Store in memory with the semantics of etcd.
#[derive(Clone, Debug, Default)]
pub struct SimStore {
    revision: i64,
    entries: BTreeMap<String, StoredKey>,
    leases: BTreeMap<i64, Lease>,
    last_lease: i64,
}

impl SimStore {
    /// Revokes the leases that have run out, and with them their keys. Every other call does so first.
    pub fn expire(&mut self, now: u64) {
        let over: Vec<i64> = self.leases.iter().filter(|(_, lease)| lease.ends <= now).map(|(id, _)| *id).collect();
        for lease in over {
            self.revoke(now, lease);
        }
    }

    /// A lease that runs out `ttl` milliseconds after it was last kept alive.
    pub fn grant(&mut self, now: u64, ttl: u64) -> i64 {
        self.last_lease += 1;
        self.leases.insert(self.last_lease, Lease { ttl, ends: now + ttl });
        self.last_lease
    }

    /// Renews the lease if it still exists, and returns whether it does.
    pub fn keep_alive(&mut self, now: u64, lease: i64) -> bool {
        self.expire(now);
        let known = self.leases.get_mut(&lease);
        known.map(|lease| lease.ends = now + lease.ttl).is_some()
    }

    /// Ends a lease and its keys.
    pub fn revoke(&mut self, _now: u64, lease: i64) {
        self.leases.remove(&lease);
        let before = self.entries.len();
        self.entries.retain(|_, entry| entry.lease != lease);
        self.revision += i64::from(before != self.entries.len());
    }

    /// All leases begin again, as they do when etcd has a new leader or comes back.
    pub fn restart(&mut self, now: u64) {
        self.leases.values_mut().for_each(|lease| lease.ends = now + lease.ttl);
    }

    /// The revision of the last write.
    pub fn revision(&self) -> i64 {
        self.revision
    }

    /// A key as it stands.
    pub fn get(&mut self, now: u64, key: &str) -> Option<StoredKey> {
        self.expire(now);
        self.entries.get(key).cloned()
    }

    /// At most `limit` entries whose keys start with `prefix`, after the key `after`.
    pub fn range(&mut self, now: u64, prefix: &str, after: Option<&str>, limit: usize) -> Vec<StoredKey> {
        self.expire(now);
        let from = after.map_or(Bound::Included(prefix), Bound::Excluded);
        let found = self.entries.range::<str, _>((from, Bound::Unbounded)).map(|(_, entry)| entry);
        found.take_while(|entry| entry.key.starts_with(prefix)).take(limit).cloned().collect()
    }

    /// Runs a transaction whose way is `fate`.
    ///
    /// # Errors
    /// See [`SimTrouble`].
    pub fn transact(&mut self, now: u64, fate: Fate, request: &Transaction) -> Result<Reply, SimTrouble> {
        self.expire(now);
        match fate {
            Fate::Arrives => self.run(request),
            Fate::RequestLost => Err(SimTrouble::NoReply),
            Fate::ReplyLost => {
                let _unheard = self.run(request);
                Err(SimTrouble::NoReply)
            }
        }
    }

    fn run(&mut self, request: &Transaction) -> Result<Reply, SimTrouble> {
        if !request.when.iter().all(|condition| self.holds(condition)) {
            let read = request.otherwise.iter().map(|key| self.entries.get(key).cloned()).collect();
            return Ok(Reply { applied: false, revision: self.revision, read });
        }
        let gone =
            |step: &Step| matches!(step, Step::Put { lease, .. } if *lease != 0 && !self.leases.contains_key(lease));
        if request.then.iter().any(gone) {
            return Err(SimTrouble::LeaseGone);
        }
        self.revision += i64::from(!request.then.is_empty());
        for step in &request.then {
            match step {
                Step::Put { key, value, lease } => {
                    let created = self.entries.get(key).map_or(self.revision, |entry| entry.created);
                    let entry = StoredKey { key: key.clone(), value: value.clone(), created, lease: *lease };
                    self.entries.insert(key.clone(), entry);
                }
                Step::Delete { key } => {
                    self.entries.remove(key);
                }
            }
        }
        Ok(Reply { applied: true, revision: self.revision, read: Vec::new() })
    }

    fn holds(&self, condition: &Compare) -> bool {
        match condition {
            Compare::Created { key, at } => self.entries.get(key).map_or(0, |entry| entry.created) == *at,
            Compare::Value { key, is } => self.entries.get(key).is_some_and(|entry| entry.value == *is),
        }
    }
}
