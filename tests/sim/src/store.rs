//! The simulated store: revisions, one lease that says who leads, fenced transactions, as etcd has them.

use compass_common::ids::Epoch;
use compass_master::store::Op;
use std::collections::BTreeMap;

/// How long a leader that is not heard stays leader, in milliseconds.
pub(super) const LEASE_MS: u64 = 2_000;

/// What a master asks.
#[derive(Clone, Debug)]
pub(super) enum Request {
    /// To lead, as the process of this name.
    Campaign { candidate: String },
    /// To go on leading.
    KeepAlive { epoch: Epoch },
    /// Everything.
    Read,
    /// All of these writes or none, if the epoch stands and `key` still has the revision `follows`.
    Transaction { epoch: Epoch, key: String, follows: Option<u64>, ops: Vec<Op> },
}

/// What it is answered.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    Leads {
        epoch: Epoch,
    },
    /// Another leads.
    Refused,
    /// The epoch is over.
    Fenced,
    /// `key` has another revision.
    Conflict,
    Done {
        revision: u64,
    },
    Entries {
        entries: BTreeMap<String, (Vec<u8>, u64)>,
    },
}

#[derive(Clone, Debug)]
struct Lead {
    candidate: String,
    epoch: Epoch,
    until: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Store {
    pub(super) entries: BTreeMap<String, (Vec<u8>, u64)>,
    revision: u64,
    pub(super) epoch: Epoch,
    lead: Option<Lead>,
    /// Takes writes of any epoch: a fault to find.
    unfenced: bool,
}

impl Store {
    pub(super) fn new(unfenced: bool) -> Self {
        Self { unfenced, ..Self::default() }
    }

    fn leads(&self, now: u64, epoch: Epoch) -> bool {
        self.lead.as_ref().is_some_and(|lead| lead.epoch == epoch && now < lead.until)
    }

    /// Does what is asked.
    pub(super) fn handle(&mut self, now: u64, request: &Request) -> Reply {
        match request {
            Request::Campaign { candidate } => {
                if let Some(lead) = self.lead.as_mut().filter(|lead| now < lead.until) {
                    if lead.candidate != *candidate {
                        return Reply::Refused;
                    }
                    lead.until = now + LEASE_MS;
                    return Reply::Leads { epoch: lead.epoch };
                }
                self.epoch.0 += 1;
                let (candidate, epoch, until) = (candidate.clone(), self.epoch, now + LEASE_MS);
                self.lead = Some(Lead { candidate, epoch, until });
                Reply::Leads { epoch }
            }
            Request::KeepAlive { epoch } => {
                if !self.leads(now, *epoch) {
                    return Reply::Fenced;
                }
                if let Some(lead) = &mut self.lead {
                    lead.until = now + LEASE_MS;
                }
                Reply::Leads { epoch: *epoch }
            }
            Request::Read => Reply::Entries { entries: self.entries.clone() },
            Request::Transaction { epoch, key, follows, ops } => {
                if !self.unfenced && !self.leads(now, *epoch) {
                    return Reply::Fenced;
                }
                if follows.is_some_and(|follows| self.entries.get(key).map_or(0, |(_, revision)| *revision) != follows)
                {
                    return Reply::Conflict;
                }
                self.revision += 1;
                for op in ops {
                    match op {
                        Op::Put { key, value } => self.entries.insert(key.clone(), (value.clone(), self.revision)),
                        Op::Delete { key } => self.entries.remove(key),
                    };
                }
                Reply::Done { revision: self.revision }
            }
        }
    }
}
