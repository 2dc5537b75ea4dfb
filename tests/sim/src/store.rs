//! The way to the store and back: the store is the one that its own tests use, what is asked of it are the transactions that
//! a shipped master makes of its lead.

use super::lead::Led;
use super::mutant::Mutant;
use super::world::{Happening, World};
use compass_scheduler::invariants::P1;
use compass_store::{Fate, Keys, Names, Op, Reply, SimTrouble, Transaction};
use compass_types::ids::Epoch;
use std::collections::BTreeMap;

/// Lifetime of the lease of a leader that is not heard, in milliseconds.
pub(super) const LEASE_MS: u64 = 2_000;

/// A master's request.
#[derive(Clone, Debug)]
pub(super) enum Request {
    /// A lease to hang the leader's key on.
    Lease,
    KeepAlive {
        lease: i64,
    },
    Revoke {
        lease: i64,
    },
    /// Everything.
    Read,
    /// To lead, or to lead again.
    Transact(Transaction),
    /// To write this under the lead of an epoch.
    Commit {
        job: usize,
        epoch: Epoch,
        ops: Vec<Op>,
        transaction: Transaction,
    },
}

/// The store's answer to a request.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Lease(i64),
    /// Set if the lease continues.
    Alive(bool),
    Entries(BTreeMap<String, Vec<u8>>),
    Transacted(Result<Reply, SimTrouble>),
}

impl World {
    /// A request reaches the store, whatever became of its sender.
    pub(super) fn asked(&mut self, master: usize, life: u64, call: u64, request: Request) {
        if self.now < self.store_down_until || self.now < self.masters[master].isolated_until {
            self.oracle.saw("a request to the store was lost");
            return;
        }
        if std::mem::take(&mut self.store_was_down) {
            self.store.restart(self.now);
        }
        let answer = self.answer(&request);
        if let (Request::Commit { job, epoch, ops, .. }, Answer::Transacted(Ok(reply))) = (&request, &answer) {
            if reply.applied {
                let latest = self.latest_epoch(*job);
                self.oracle.committed(self.now, *job, (*epoch, latest), ops, &self.disks[*job]);
                if life != self.masters[master].life || !self.masters[master].up {
                    self.oracle.saw("a transaction took effect after its master had died");
                }
            } else {
                self.oracle.saw("a transaction was refused");
            }
        }
        if self.now < self.store_deaf_until {
            self.oracle.saw("an answer of the store was lost");
            return;
        }
        let pause = self.rpc_pause();
        self.after(pause, Happening::Answered { master, life, call, answer });
    }

    fn answer(&mut self, request: &Request) -> Answer {
        let now = self.now;
        match request {
            Request::Lease => Answer::Lease(self.store.grant(now, LEASE_MS)),
            Request::KeepAlive { lease } => Answer::Alive(self.store.keep_alive(now, *lease)),
            Request::Revoke { lease } => {
                self.store.revoke(now, *lease);
                Answer::Alive(false)
            }
            Request::Read => Answer::Entries(self.recorded()),
            Request::Transact(transaction) => {
                let mut transaction = transaction.clone();
                if self.mutant == Some(Mutant::LeadTakenFromHolder) {
                    transaction.when.clear();
                }
                Answer::Transacted(self.store.transact(now, Fate::Arrives, &transaction))
            }
            Request::Commit { transaction, .. } => {
                let mut transaction = transaction.clone();
                match self.mutant {
                    Some(Mutant::StaleEpochAccepted) => transaction.when.clear(),
                    // The lead is first, the count of commits after it.
                    Some(Mutant::UnguardedLength) => transaction.when.truncate(1),
                    _ => {}
                }
                Answer::Transacted(self.store.transact(now, Fate::Arrives, &transaction))
            }
        }
    }

    /// Returns the names of a lead's keys.
    pub(super) fn names(&self, led: Led) -> Names {
        match led {
            Led::Server => Names::below("serve/"),
            Led::Job(job) => Names::below(&format!("{}/", Keys::place(&self.jobs[job].digest))),
        }
    }

    /// Returns the store's entries.
    pub(super) fn recorded(&mut self) -> BTreeMap<String, Vec<u8>> {
        let entries = self.store.range(self.now, "", None, usize::MAX);
        entries.into_iter().map(|entry| (entry.key, entry.value)).collect()
    }

    /// Draws the time for which a message between a master and the store is on its way.
    pub(super) fn rpc_pause(&mut self) -> u64 {
        if self.rng.chance(15) { self.rng.between(200, 900) } else { self.rng.between(1, 8) }
    }

    /// The latest epoch in which a master led a job.
    pub(super) fn latest_epoch(&mut self, job: usize) -> Epoch {
        let name = self.names(Led::Job(job)).epoch;
        let Some(entry) = self.store.get(self.now, &name) else { return Epoch(0) };
        let epoch = std::str::from_utf8(&entry.value).ok().and_then(|text| text.parse().ok());
        if epoch.is_none() {
            self.oracle.violation(P1, format!("the epoch is {:?}", entry.value));
        }
        Epoch(epoch.unwrap_or(0))
    }
}
