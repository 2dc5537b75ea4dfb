//! A master's process: stands by, campaigns, loads what is recorded, leads, ends when it hears that another has led.
//!
//! What it asks the store, and what it makes of the replies, is the shipped reign's; when it asks again is this file's.

use super::disk::Found;
use super::reign::{MOST, Reign};
use super::store::{Answer, Request, names};
use super::worker::FAR;
use super::world::{Happening, World};
use compass_common::ids::{Digest, Epoch, UnitId};
use compass_master::core::{DeviceType, Labels, Limits, Watch, invariants};
use compass_master::leader::Leader;
use compass_master::ledger::GroupCommit;
use compass_master::pipeline::opening::Opening;
use compass_master::rpc::{JobKey, PoolTerms, Terms, Uploads};
use compass_master::store::{Campaigned, Candidacy, Op, Outcome, Reign as Lead, Reply};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// How long a master waits for the store's answer, before it asks again.
const CALL_MS: u64 = 500;
const TICK_MS: u64 = 250;
/// Room for uploads: few at a time.
const UPLOAD_BYTES: u64 = 650_000;
/// Leases of workers.
pub(super) const WORKER_LEASE_MS: u64 = 6_000;
pub(super) const HEARTBEAT_MS: u64 = 600;

/// Why the store was asked.
#[derive(Clone, Debug)]
pub(super) enum Purpose {
    LeaseToCampaign,
    Campaign {
        lease: i64,
    },
    KeepAlive,
    LeaseToLeadAgain,
    LeadAgain {
        lease: i64,
    },
    Load,
    Commit,
    /// Nothing depends on the answer.
    Aside,
}

/// A leader that has not begun yet.
#[derive(Debug)]
pub(super) struct Beginning {
    opening: Opening,
    segment: String,
    key: JobKey,
}

#[derive(Debug)]
pub(super) enum Phase {
    Standby,
    /// Leads, and reads what it takes over; then what that is, while the first writes are under way.
    Opening(Option<Box<Beginning>>),
    Leading(Box<Reign>),
}

/// See the module.
#[derive(Debug)]
pub(super) struct Master {
    pub(super) life: u64,
    pub(super) up: bool,
    pub(super) paused_until: u64,
    pub(super) isolated_until: u64,
    /// Until when what it asks the store is held up on its way.
    pub(super) held_until: u64,
    pub(super) phase: Phase,
    number: usize,
    candidacy: Option<Candidacy>,
    /// The lead as its holder knows it.
    lead: Option<Lead>,
    /// What is being written, in one transaction.
    writes: Option<Vec<Op>>,
    /// What workers bring in place of frames that are too large.
    pub(super) uploads: Uploads,
    calls: BTreeMap<u64, (Purpose, Request)>,
    last_call: u64,
}

impl Master {
    pub(super) fn new(number: usize) -> Self {
        Self {
            life: 0,
            up: false,
            paused_until: 0,
            isolated_until: 0,
            held_until: 0,
            phase: Phase::Standby,
            number,
            candidacy: None,
            lead: None,
            writes: None,
            uploads: Uploads::of(UPLOAD_BYTES),
            calls: BTreeMap::new(),
            last_call: 0,
        }
    }

    pub(super) fn is_leading(&self) -> bool {
        matches!(self.phase, Phase::Leading(_))
    }

    pub(super) fn reign(&mut self) -> Option<&mut Reign> {
        match &mut self.phase {
            Phase::Leading(reign) => Some(reign),
            _ => None,
        }
    }

    fn asks(&self, wanted: fn(&Purpose) -> bool) -> bool {
        self.calls.values().any(|(purpose, _)| wanted(purpose))
    }
}

impl World {
    pub(super) fn master_starts(&mut self, at: usize) {
        let (life, number) = (self.masters[at].life + 1, self.masters[at].number);
        let last_call = self.masters[at].last_call;
        self.masters[at] = Master { life, up: true, last_call, ..Master::new(number) };
        self.after(1, Happening::MasterTick { master: at, life });
    }

    /// Asks the store.
    pub(super) fn call(&mut self, at: usize, purpose: Purpose, request: Request) {
        let now = self.now;
        let master = &mut self.masters[at];
        master.last_call += 1;
        let (life, call) = (master.life, master.last_call);
        master.calls.insert(call, (purpose, request.clone()));
        let pause = self.rpc_pause();
        let arrives = (now + pause).max(self.masters[at].held_until);
        self.at(arrives, Happening::Asked { master: at, life, call, request });
        self.after(CALL_MS, Happening::Unanswered { master: at, life, call });
    }

    pub(super) fn master_tick(&mut self, at: usize) {
        let life = self.masters[at].life;
        self.after(TICK_MS, Happening::MasterTick { master: at, life });
        let master = &self.masters[at];
        let campaigns = |purpose: &Purpose| matches!(purpose, Purpose::LeaseToCampaign | Purpose::Campaign { .. });
        match master.lead.as_ref().map(Lead::lease) {
            None if !master.asks(campaigns) => {
                let (candidate, nonce) = (format!("m{at}.{life}"), format!("{at:x}{life:08x}"));
                self.masters[at].candidacy = Some(Candidacy::new(names(), &candidate, &nonce, Epoch(0)));
                self.call(at, Purpose::LeaseToCampaign, Request::Lease);
            }
            Some(lease) if !master.asks(|purpose| matches!(purpose, Purpose::KeepAlive)) => {
                self.call(at, Purpose::KeepAlive, Request::KeepAlive { lease });
            }
            _ => {}
        }
        self.masters[at].uploads.expire(self.instant());
        self.leader_ticks(at);
    }

    pub(super) fn answered(&mut self, at: usize, call: u64, answer: Answer) {
        let Some((purpose, request)) = self.masters[at].calls.remove(&call) else { return };
        match (purpose, answer) {
            (Purpose::LeaseToCampaign, Answer::Lease(lease)) => self.campaigns(at, lease),
            (Purpose::Campaign { lease }, Answer::Transacted(Ok(reply))) => self.has_campaigned(at, lease, &reply),
            (Purpose::KeepAlive, Answer::Alive(false)) => self.lead_lapsed(at),
            (Purpose::LeaseToLeadAgain, Answer::Lease(lease)) => {
                if let Some(lead) = &self.masters[at].lead {
                    let request = Request::Transact(lead.reassertion(lease));
                    self.call(at, Purpose::LeadAgain { lease }, request);
                }
            }
            (Purpose::LeadAgain { lease }, Answer::Transacted(Ok(reply))) => {
                let outcome = self.masters[at].lead.as_mut().map(|lead| lead.judge_reassertion(lease, &reply));
                match outcome {
                    Some(Outcome::Durable | Outcome::Again) => {
                        self.oracle.saw("a lapsed lead was taken again");
                        self.write_on(at);
                    }
                    Some(Outcome::Lapsed) => self.lead_lapsed(at),
                    _ => self.step_down(at),
                }
            }
            (Purpose::Load, Answer::Entries(entries)) => self.load(at, &entries),
            (Purpose::Commit, Answer::Transacted(Ok(reply))) => self.is_written(at, &request, &reply),
            _ => {}
        }
    }

    /// There is no answer in time: most is asked again as it was, for it may have taken effect.
    pub(super) fn unanswered(&mut self, at: usize, call: u64) {
        let Some((purpose, request)) = self.masters[at].calls.remove(&call) else { return };
        match purpose {
            Purpose::LeaseToCampaign | Purpose::KeepAlive | Purpose::Aside => {}
            Purpose::Commit => {
                self.oracle.saw("a transaction was not answered");
                if self.mutant == Some(super::Mutant::NoRereadAfterTimeout) {
                    let reply = Reply { applied: true, revision: 0, read: Vec::new() };
                    return self.is_written(at, &request, &reply);
                }
                self.call(at, purpose, request);
            }
            _ => self.call(at, purpose, request),
        }
    }

    fn campaigns(&mut self, at: usize, lease: i64) {
        if let Some(candidacy) = &self.masters[at].candidacy {
            let request = Request::Transact(candidacy.transaction(lease));
            self.call(at, Purpose::Campaign { lease }, request);
        }
    }

    fn has_campaigned(&mut self, at: usize, lease: i64, reply: &Reply) {
        let Some(candidacy) = &mut self.masters[at].candidacy else { return };
        match candidacy.judge(lease, reply) {
            Campaigned::Won(lead) => {
                let epoch = lead.epoch();
                let master = &mut self.masters[at];
                (master.candidacy, master.lead) = (None, Some(lead));
                master.phase = Phase::Opening(None);
                self.oracle.note(self.now, || format!("m{at} leads epoch {epoch}"));
                self.call(at, Purpose::Load, Request::Read);
            }
            Campaigned::Again => self.campaigns(at, lease),
            Campaigned::Held(_) => {
                self.masters[at].candidacy = None;
                self.call(at, Purpose::Aside, Request::Revoke { lease });
            }
            Campaigned::Damaged(damage) => self.oracle.violation(invariants::L1, damage.to_string()),
        }
    }

    /// The lease ran out: the lead is taken again, if nobody has led since.
    fn lead_lapsed(&mut self, at: usize) {
        let master = &self.masters[at];
        let under_way = |purpose: &Purpose| matches!(purpose, Purpose::LeaseToLeadAgain | Purpose::LeadAgain { .. });
        if master.lead.is_some() && !master.asks(under_way) {
            self.call(at, Purpose::LeaseToLeadAgain, Request::Lease);
        }
    }

    /// Writes these in one transaction.
    pub(super) fn write(&mut self, at: usize, ops: Vec<Op>) {
        self.masters[at].writes = Some(ops);
        self.write_on(at);
    }

    fn write_on(&mut self, at: usize) {
        let master = &self.masters[at];
        if master.asks(|purpose| matches!(purpose, Purpose::Commit)) {
            return;
        }
        let Some((lead, ops)) = master.lead.as_ref().zip(master.writes.as_ref()) else { return };
        let (epoch, transaction, ops) = (lead.epoch(), lead.commit(ops), ops.clone());
        self.call(at, Purpose::Commit, Request::Commit { epoch, ops, transaction });
    }

    fn is_written(&mut self, at: usize, request: &Request, reply: &Reply) {
        let Some(lead) = self.masters[at].lead.as_mut() else { return };
        let outcome = lead.judge(reply);
        if outcome == Outcome::Durable && !reply.applied {
            self.oracle.saw("a transaction without an answer had taken effect");
        }
        match outcome {
            Outcome::Durable => {
                self.masters[at].writes = None;
                match self.masters[at].phase {
                    Phase::Opening(_) => self.opened(at),
                    Phase::Leading(_) => self.committed(at),
                    Phase::Standby => {}
                }
            }
            Outcome::Again => self.write_on(at),
            Outcome::Lapsed => self.lead_lapsed(at),
            Outcome::Over => {
                self.oracle.saw("a transaction was fenced");
                self.step_down(at);
            }
            Outcome::Damaged(part) => {
                let detail = format!("{part:?} is damaged, says the reply to {request:?}");
                self.oracle.violation(invariants::L1, detail);
            }
        }
    }

    /// Reads store and disk as a leader does before it begins.
    fn load(&mut self, at: usize, entries: &BTreeMap<String, Vec<u8>>) {
        let Some(epoch) = self.masters[at].lead.as_ref().map(Lead::epoch) else { return };
        let found = self.read_ledger(entries);
        self.oracle.loaded(&found);
        let mut opening = match Opening::observe(self.job.keys.clone(), entries) {
            Ok(opening) => opening,
            Err(damage) => return self.oracle.violation(invariants::C3, damage.to_string()),
        };
        for ((unit, index), result) in &found {
            opening.result(UnitId(*unit), *index, result, DeviceType::Cpu);
        }
        if epoch.0 > 1 {
            self.oracle.saw("a leader took over");
        }
        let segment = format!("{:08}-m{at}", epoch.0);
        if !self.disk.create(&segment) {
            self.oracle.violation(invariants::L1, format!("segment {segment} is made a second time"));
        }
        // A key of its own for every leader that finds none.
        let made = || Ok::<_, Infallible>(JobKey::new(Digest::of(format!("key of epoch {epoch}").as_bytes()).0));
        let Ok((key, first)) = opening.first_writes(&segment, self.disk.synced(&segment), made);
        self.masters[at].phase = Phase::Opening(Some(Box::new(Beginning { opening, segment, key })));
        self.write(at, first);
    }

    /// The samples that exist, given what the store recorded.
    pub(super) fn read_ledger(&mut self, entries: &BTreeMap<String, Vec<u8>>) -> BTreeMap<(u32, u32), Vec<u8>> {
        let mut found = BTreeMap::new();
        let names: Vec<String> = self.disk.names().cloned().collect();
        for name in names {
            let length = entries.get(&self.job.keys.segment(&name));
            let length = length.and_then(|value| value.as_slice().try_into().ok()).map(u64::from_le_bytes);
            match self.disk.read(&name, length) {
                Err(error) => self.oracle.violation(invariants::C3, error.to_string()),
                Ok((samples, beyond)) => {
                    if beyond > 0 {
                        self.oracle.saw("bytes beyond the recorded length were ignored");
                    }
                    for (unit, index, result, _) in samples as Vec<Found> {
                        found.entry((unit, index)).or_insert(result);
                    }
                }
            }
        }
        found
    }

    fn opened(&mut self, at: usize) {
        let Some(epoch) = self.masters[at].lead.as_ref().map(Lead::epoch) else { return };
        let phase = std::mem::replace(&mut self.masters[at].phase, Phase::Standby);
        let Phase::Opening(Some(beginning)) = phase else { return };
        let Beginning { opening, segment, key } = *beginning;
        let limits = Limits {
            lease_ttl: WORKER_LEASE_MS,
            silence: WORKER_LEASE_MS / 2,
            retry: 10_000,
            losses: 10_000,
            infrastructure: 10_000,
            fewest_attempts: 8,
            unschedulable: 60_000,
            split: self.scenario.split,
            ..Limits::default()
        };
        let commit = GroupCommit::new(opening.journal(epoch), &self.job.keys, &segment, MOST);
        let recorded = opening.recorded();
        let duplicates = self.job.duplicates(recorded);
        let tasks = self.job.tasks((recorded, &duplicates), &opening.attempts());
        let units = self.job.units().into_iter().map(|(unit, _)| UnitId(unit));
        let done: Vec<_> = units.map(|unit| (unit, recorded.done(unit))).collect();
        let may_hold = self.mutant != Some(super::Mutant::NoRecoveringWindow);
        let core = opening.core(epoch, limits, tasks, (duplicates, Labels::default()), |_| may_hold);
        let terms = Terms {
            plan: self.job.digest,
            epoch,
            lease_ttl_ms: WORKER_LEASE_MS as u32,
            heartbeat_ms: HEARTBEAT_MS as u32,
            engine_timeout_ms: 0,
            pools: [(FAR.to_owned(), PoolTerms { offline_continue: true, ..PoolTerms::default() })].into(),
            key,
            units: self.job.terms(),
        };
        let leader = Leader::new(core, terms, self.job.keys.clone(), Watch::new(done));
        let reign = Reign::new(epoch, leader, commit, segment, key, self.now);
        self.masters[at].phase = Phase::Leading(Box::new(reign));
    }

    /// The process ends and is started again: what it led is over.
    pub(super) fn step_down(&mut self, at: usize) {
        self.oracle.note(self.now, || format!("m{at} steps down"));
        self.master_dies(at, 1_000);
    }

    pub(super) fn master_dies(&mut self, at: usize, back_after: u64) {
        if !self.masters[at].up {
            return;
        }
        let life = self.masters[at].life;
        let phase = std::mem::replace(&mut self.masters[at].phase, Phase::Standby);
        self.masters[at].up = false;
        if let Phase::Leading(reign) = phase {
            self.oracle.saw("a leader died");
            if self.disk.crash(&reign.segment, &mut self.rng) {
                self.oracle.saw("a segment was torn");
            }
            for link in 0..self.links.all.len() {
                let known = &self.links.all[link];
                if known.master == at && known.master_life == life && !known.broken {
                    self.sever(link, 2_500);
                }
            }
        }
        self.after(back_after, Happening::MasterStarts { master: at });
    }
}
