//! One term over one job, as transactions and what their replies mean. Pure: who carries them to a store is no matter.
//!
//! Three keys tell everything. `leader` lives as long as its holder's lease, and the revision of its creation is the
//! fence of every write. `epoch` only grows. `commits` counts the writes of a term: each names the number before its
//! own, so that a request that arrives twice, or late, after others, changes nothing; and a process that lost a reply learns
//! from the number whether the write took place.

use super::coordination_store::{LeaderRecord, Op};
use super::damage::Damage;
use super::transaction::{Compare, Reply, Step, StoredKey, Transaction};
use compass_types::ids::{Digest, Epoch};
use std::collections::BTreeMap;

/// Names of the keys of a term.
#[derive(Clone, Debug)]
pub struct Names {
    pub leader: String,
    pub epoch: String,
    pub commits: String,
}

/// Candidate that wants to lead, and from when on.
#[derive(Clone, Debug)]
pub struct Candidacy {
    names: Names,
    candidate: String,
    nonce: String,
    at_least: Epoch,
    /// The epoch as it was read last.
    known: Option<Vec<u8>>,
}

/// Outcome of a campaign.
#[derive(Clone, Debug)]
pub enum Campaigned {
    Won(Term),
    /// Somebody else leads.
    Held(String),
    /// The epoch was another than assumed: ask again.
    Again,
    /// A key holds what cannot be read.
    Damaged(Damage),
}

/// A term as its holder knows it.
#[derive(Clone, Debug)]
pub struct Term {
    names: Names,
    epoch: Epoch,
    /// Value at the leader's key: epoch, holder, and a mark that no other process has.
    leader_record: Vec<u8>,
    fence: i64,
    lease: i64,
    commits: u64,
}

/// Outcome of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It is durable, by this request or by an earlier one whose reply was lost.
    Durable,
    /// The leader's key is ours but younger than we thought: the same commit again.
    Again,
    /// The lease ran out and no other master has led since: see [`Term::reassertion`].
    Lapsed,
    /// Another leads, or has led.
    Over,
    /// A key of the term holds what this version never writes.
    Damaged(Part),
}

/// One of the keys of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Leader,
    Epoch,
    Commits,
}

impl Names {
    /// The keys below `root`, which ends with a slash.
    pub fn below(root: &str) -> Self {
        let name = |last: &str| format!("{root}{last}");
        Self { leader: name("leader"), epoch: name("epoch"), commits: name("commits") }
    }

    pub(super) fn damage(&self, part: Part) -> Damage {
        match part {
            Part::Leader => Damage::leader(&self.leader),
            Part::Epoch => Damage::epoch(&self.epoch),
            Part::Commits => Damage::commits(&self.commits),
        }
    }
}

fn number(bytes: &[u8]) -> Option<u64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

/// The leader that a record names; `None` for one that this version did not write, or that no lease will ever end.
pub(super) fn leader(record: &StoredKey) -> Option<LeaderRecord> {
    let mut words = std::str::from_utf8(&record.value).ok()?.splitn(3, ' ');
    let (epoch, nonce, holder) = (words.next()?, words.next()?, words.next()?);
    let ours = record.lease != 0 && !nonce.is_empty() && nonce.bytes().all(|byte| byte.is_ascii_hexdigit());
    ours.then_some(LeaderRecord { epoch: Epoch(number(epoch.as_bytes())?), holder: holder.to_owned() })
}

/// The number of a commit; `None` for what is none.
fn number_of_commit(value: &[u8]) -> Option<(u64, u64)> {
    let (epoch, commits) = std::str::from_utf8(value).ok()?.split_once(':')?;
    Some((epoch.parse().ok()?, commits.parse().ok()?))
}

impl Candidacy {
    /// `nonce` must differ between any two stores that are open, also within one process.
    pub fn new(names: Names, candidate: &str, nonce: &str, at_least: Epoch) -> Self {
        Self { names, candidate: candidate.into(), nonce: nonce.into(), at_least, known: None }
    }

    fn epoch(&self) -> Epoch {
        Epoch(self.known.as_deref().and_then(number).unwrap_or(0).max(self.at_least.0).saturating_add(1))
    }

    fn leader_record(&self) -> Vec<u8> {
        format!("{} {} {}", self.epoch(), self.nonce, self.candidate).into_bytes()
    }

    /// Takes the lead if there is no leader and the epoch is as known.
    pub fn transaction(&self, lease: i64) -> Transaction {
        let names = &self.names;
        let epoch = match &self.known {
            Some(known) => Compare::Value { key: names.epoch.clone(), is: known.clone() },
            None => Compare::Created { key: names.epoch.clone(), at: 0 },
        };
        let put = |key: &str, value: String| Step::Put { key: key.into(), value: value.into_bytes(), lease: 0 };
        Transaction {
            when: vec![Compare::Created { key: names.leader.clone(), at: 0 }, epoch],
            then: vec![
                Step::Put { key: names.leader.clone(), value: self.leader_record(), lease },
                put(&names.epoch, self.epoch().to_string()),
                put(&names.commits, count(self.epoch(), 0)),
            ],
            otherwise: vec![names.leader.clone(), names.epoch.clone()],
        }
    }

    /// Reads the reply to the transaction made with `lease`.
    pub fn judge(&mut self, lease: i64, reply: &Reply) -> Campaigned {
        let won = |fence| Term {
            names: self.names.clone(),
            epoch: self.epoch(),
            leader_record: self.leader_record(),
            fence,
            lease,
            commits: 0,
        };
        if reply.applied {
            return Campaigned::Won(won(reply.revision));
        }
        match reply.read.first() {
            // An earlier request of ours got through, and its reply was lost.
            Some(Some(leader)) if leader.value == self.leader_record() && leader.lease == lease => {
                Campaigned::Won(won(leader.created))
            }
            Some(Some(leader)) => match self::leader(leader) {
                Some(leader) => Campaigned::Held(leader.holder),
                None => Campaigned::Damaged(self.names.damage(Part::Leader)),
            },
            _ => {
                self.known = reply.read.get(1).cloned().flatten().map(|entry| entry.value);
                match self.known.as_deref().map(number) {
                    // To write over it could make the epoch go back.
                    Some(None) => Campaigned::Damaged(self.names.damage(Part::Epoch)),
                    _ => Campaigned::Again,
                }
            }
        }
    }
}

fn count(epoch: Epoch, commits: u64) -> String {
    format!("{epoch}:{commits}")
}

impl Term {
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The lease that the leader's key hangs on.
    pub fn lease(&self) -> i64 {
        self.lease
    }

    /// The next commit. Of several writes to one key the last stands: a transaction takes a key once.
    pub fn commit(&self, ops: &[Op]) -> Transaction {
        let names = &self.names;
        let mut last: BTreeMap<&str, Step> = BTreeMap::new();
        for op in ops {
            match op {
                Op::Put { key, value } => {
                    last.insert(key, Step::Put { key: key.clone(), value: value.clone(), lease: 0 })
                }
                Op::Delete { key } => last.insert(key, Step::Delete { key: key.clone() }),
            };
        }
        let value = count(self.epoch, self.commits + 1).into_bytes();
        let counted = Step::Put { key: names.commits.clone(), value, lease: 0 };
        Transaction {
            when: vec![
                Compare::Created { key: names.leader.clone(), at: self.fence },
                Compare::Value { key: names.commits.clone(), is: count(self.epoch, self.commits).into_bytes() },
            ],
            then: last.into_values().chain([counted]).collect(),
            otherwise: self.read_on_conflict(),
        }
    }

    fn read_on_conflict(&self) -> Vec<String> {
        vec![self.names.leader.clone(), self.names.epoch.clone(), self.names.commits.clone()]
    }

    /// Reads the reply to [`Self::commit`].
    pub fn judge(&mut self, reply: &Reply) -> CommitOutcome {
        let mine = count(self.epoch, self.commits + 1);
        let counted = reply.read.get(2).and_then(Option::as_ref).is_some_and(|at| at.value == mine.as_bytes());
        if reply.applied || counted {
            self.commits += 1;
            return CommitOutcome::Durable;
        }
        let before = count(self.epoch, self.commits);
        let awaits = reply.read.get(2).and_then(Option::as_ref).is_some_and(|at| at.value == before.as_bytes());
        match self.look(reply) {
            // While the request was under way the keeper took the lead again: it named a leader's key that is gone.
            CommitOutcome::Durable if awaits => CommitOutcome::Again,
            // Nothing but the count can be wrong, and only this term writes it: not a store to go on with.
            CommitOutcome::Durable => match reply.read.get(2).and_then(Option::as_ref) {
                Some(at) if number_of_commit(&at.value).is_some() => CommitOutcome::Over,
                _ => CommitOutcome::Damaged(Part::Commits),
            },
            other => other,
        }
    }

    /// Takes the lead again after the lease ran out, under the same epoch, which proves that no other master has led meanwhile.
    pub fn reassertion(&self, lease: i64) -> Transaction {
        let names = &self.names;
        Transaction {
            when: vec![
                Compare::Created { key: names.leader.clone(), at: 0 },
                Compare::Value { key: names.epoch.clone(), is: self.epoch.to_string().into_bytes() },
            ],
            then: vec![Step::Put { key: names.leader.clone(), value: self.leader_record.clone(), lease }],
            otherwise: self.read_on_conflict(),
        }
    }

    /// Reads the reply to [`Self::reassertion`]: `Durable` says that this term goes on.
    pub fn judge_reassertion(&mut self, lease: i64, reply: &Reply) -> CommitOutcome {
        if reply.applied {
            (self.fence, self.lease) = (reply.revision, lease);
            return CommitOutcome::Durable;
        }
        match self.look(reply) {
            CommitOutcome::Again => CommitOutcome::Durable,
            other => other,
        }
    }

    /// Compares the leader's key and the epoch with this term: `Durable` when all is as this term knows it.
    fn look(&mut self, reply: &Reply) -> CommitOutcome {
        let at = |index: usize| reply.read.get(index).and_then(Option::as_ref);
        match at(0) {
            Some(leader) if leader.value == self.leader_record => {
                let known = (self.fence, self.lease);
                (self.fence, self.lease) = (leader.created, leader.lease);
                if known == (self.fence, self.lease) { CommitOutcome::Durable } else { CommitOutcome::Again }
            }
            Some(other) if leader(other).is_none() => CommitOutcome::Damaged(Part::Leader),
            Some(_) => CommitOutcome::Over,
            None => match at(1).map(|epoch: &StoredKey| number(&epoch.value)) {
                Some(None) => CommitOutcome::Damaged(Part::Epoch),
                Some(Some(epoch)) if epoch == self.epoch.0 => CommitOutcome::Lapsed,
                _ => CommitOutcome::Over,
            },
        }
    }

    /// Gives the lead up, if it is still ours.
    pub fn resignation(&self) -> Transaction {
        Transaction {
            when: vec![Compare::Created { key: self.names.leader.clone(), at: self.fence }],
            then: vec![Step::Delete { key: self.names.leader.clone() }],
            otherwise: Vec::new(),
        }
    }
}

/// A mark that no other open store has, however alike their masters are.
pub fn nonce(seed: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static OPENED: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let opened = OPENED.fetch_add(1, Ordering::Relaxed);
    Digest::of(format!("{seed} {} {now} {opened}", std::process::id()).as_bytes()).short()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &str, value: &[u8], created: i64, lease: i64) -> Option<StoredKey> {
        Some(StoredKey { key: key.into(), value: value.into(), created, lease })
    }

    #[test]
    fn a_commit_that_was_under_way_when_the_lead_was_taken_again_is_tried_again() {
        let mut candidacy = Candidacy::new(Names::below("j/"), "m", "n", Epoch(0));
        let won = candidacy.judge(7, &Reply { applied: true, revision: 10, read: vec![] });
        let Campaigned::Won(mut term) = won else { unreachable!("{won:?}") };
        // Its request went out with the fence 10; before its reply the keeper had the leader's key made again.
        let reasserted = term.judge_reassertion(8, &Reply { applied: true, revision: 20, read: vec![] });
        assert_eq!(reasserted, CommitOutcome::Durable);
        let leader_record = term.leader_record.clone();
        let reply = |commits: &[u8]| Reply {
            applied: false,
            revision: 21,
            read: vec![
                entry("j/leader", &leader_record, 20, 8),
                entry("j/epoch", b"1", 10, 0),
                entry("j/commits", commits, 10, 0),
            ],
        };
        assert_eq!(term.clone().judge(&reply(b"1:0")), CommitOutcome::Again);
        assert_eq!(term.clone().judge(&reply(b"1:1")), CommitOutcome::Durable, "an earlier request of it got through");
        assert_eq!(term.judge(&reply(b"1:5")), CommitOutcome::Over, "somebody else wrote the count");
    }
}
