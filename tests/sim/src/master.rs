//! A master's process: stands by, campaigns, loads what is recorded, leads, steps down when its lease may be over.

use super::disk::Found;
use super::reign::Reign;
use super::store::{LEASE_MS, Reply, Request};
use super::world::{Happening, World};
use compass_common::ids::{Digest, Epoch, UnitId};
use compass_master::core::{Core, DeviceType, Limits, Recorded, Watch};
use compass_master::leader::Leader;
use compass_master::ledger::Journal;
use compass_master::pipeline::former::Leases;
use compass_master::rpc::{JobKey, Terms, Uploads};
use compass_master::store::{Keys, Op};
use std::collections::BTreeMap;

/// How long a master waits for the store's answer.
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
    Campaign,
    KeepAlive,
    Load,
    /// To record the new segment.
    Open,
    /// Whether the new segment is recorded after all.
    OpenAgain,
    Commit,
    /// Whether the commit took effect after all.
    CommitAgain,
}

#[derive(Debug)]
pub(super) struct Opening {
    pub(super) epoch: Epoch,
    recorded: Recorded,
    leases: Leases,
    segment: String,
    /// The job's key, and whether this leader is the first to write it.
    key: Option<(JobKey, bool)>,
}

#[derive(Debug)]
pub(super) enum Phase {
    Standby,
    Opening(Box<Opening>),
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
    name: String,
    /// Until when it leads for certain, by its own clock, counted from when it asked.
    lease_until: u64,
    /// What workers bring in place of frames that are too large.
    pub(super) uploads: Uploads,
    calls: BTreeMap<u64, (u64, Purpose)>,
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
            name: format!("m{number}"),
            lease_until: 0,
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

    fn epoch(&self) -> Option<Epoch> {
        match &self.phase {
            Phase::Standby => None,
            Phase::Opening(opening) => Some(opening.epoch),
            Phase::Leading(reign) => Some(reign.epoch),
        }
    }
}

fn length_op(keys: &Keys, segment: &str, length: u64) -> (String, Op) {
    let key = keys.segment(segment);
    (key.clone(), Op::Put { key, value: length.to_le_bytes().to_vec() })
}

impl World {
    pub(super) fn master_starts(&mut self, at: usize) {
        let master = &mut self.masters[at];
        master.life += 1;
        (master.up, master.paused_until, master.phase) = (true, 0, Phase::Standby);
        master.calls.clear();
        master.uploads = Uploads::of(UPLOAD_BYTES);
        let life = master.life;
        self.after(1, Happening::MasterTick { master: at, life });
    }

    /// Asks the store.
    pub(super) fn call(&mut self, at: usize, purpose: Purpose, request: Request) {
        let now = self.now;
        let master = &mut self.masters[at];
        master.last_call += 1;
        let (life, call) = (master.life, master.last_call);
        master.calls.insert(call, (now, purpose));
        let pause = self.rpc_pause();
        let arrives = (now + pause).max(self.masters[at].held_until);
        self.at(arrives, Happening::Asked { master: at, life, call, request });
        self.after(CALL_MS, Happening::Unanswered { master: at, life, call });
    }

    /// Whether the process may act: one whose lease may be over steps down before it does anything else.
    pub(super) fn leads_on(&mut self, at: usize) -> bool {
        let master = &self.masters[at];
        if master.epoch().is_some() && self.now >= master.lease_until {
            self.oracle.saw("a leader stepped down");
            self.step_down(at);
            return false;
        }
        true
    }

    pub(super) fn master_tick(&mut self, at: usize) {
        let life = self.masters[at].life;
        self.after(TICK_MS, Happening::MasterTick { master: at, life });
        if !self.leads_on(at) {
            return;
        }
        let master = &self.masters[at];
        let waits = |wanted: fn(&Purpose) -> bool| master.calls.values().any(|(_, purpose)| wanted(purpose));
        match master.epoch() {
            None if !waits(|purpose| matches!(purpose, Purpose::Campaign)) => {
                let candidate = format!("{}.{}", master.name, master.life);
                self.call(at, Purpose::Campaign, Request::Campaign { candidate });
            }
            Some(epoch) if !waits(|purpose| matches!(purpose, Purpose::KeepAlive)) => {
                self.call(at, Purpose::KeepAlive, Request::KeepAlive { epoch });
            }
            _ => {}
        }
        self.masters[at].uploads.expire(self.instant());
        self.leader_ticks(at);
    }

    pub(super) fn answered(&mut self, at: usize, call: u64, reply: Reply) {
        let Some((asked, purpose)) = self.masters[at].calls.remove(&call) else { return };
        match (purpose, reply) {
            (Purpose::Campaign | Purpose::KeepAlive, Reply::Leads { epoch }) => self.leads(at, epoch, asked),
            (Purpose::Load, Reply::Entries { entries }) => self.load(at, &entries),
            (Purpose::Open, Reply::Done { revision }) => self.opened(at, revision),
            (Purpose::OpenAgain, Reply::Entries { entries }) => {
                let segment = match &self.masters[at].phase {
                    Phase::Opening(opening) => opening.segment.clone(),
                    _ => return,
                };
                match entries.get(&self.job.keys.segment(&segment)) {
                    Some((_, revision)) => self.opened(at, *revision),
                    None => self.open_segment(at),
                }
            }
            (Purpose::Open, Reply::Conflict) => self.call(at, Purpose::OpenAgain, Request::Read),
            (Purpose::Commit, Reply::Done { revision }) => self.committed(at, Some(revision)),
            (Purpose::Commit, Reply::Conflict) => self.call(at, Purpose::CommitAgain, Request::Read),
            (Purpose::CommitAgain, Reply::Entries { entries }) => self.look_again(at, &entries),
            (_, Reply::Fenced) => self.step_down(at),
            _ => {}
        }
    }

    pub(super) fn unanswered(&mut self, at: usize, call: u64) {
        let Some((_, purpose)) = self.masters[at].calls.remove(&call) else { return };
        match purpose {
            Purpose::Campaign | Purpose::KeepAlive => {}
            Purpose::Load => self.call(at, Purpose::Load, Request::Read),
            Purpose::Open | Purpose::OpenAgain => self.call(at, Purpose::OpenAgain, Request::Read),
            Purpose::Commit | Purpose::CommitAgain => self.commit_unanswered(at),
        }
    }

    fn leads(&mut self, at: usize, epoch: Epoch, asked: u64) {
        let until = asked + LEASE_MS * 4 / 5;
        let master = &mut self.masters[at];
        match master.epoch() {
            None if self.now < until => {
                master.lease_until = until;
                let (recorded, leases, segment) = (Recorded::default(), Leases::default(), String::new());
                let opening = Opening { epoch, recorded, leases, segment, key: None };
                master.phase = Phase::Opening(Box::new(opening));
                self.oracle.note(self.now, || format!("m{at} leads epoch {epoch}"));
                self.call(at, Purpose::Load, Request::Read);
            }
            Some(known) if known == epoch => master.lease_until = master.lease_until.max(until),
            _ => {}
        }
    }

    /// Reads store and disk as a leader does before it begins.
    fn load(&mut self, at: usize, entries: &BTreeMap<String, (Vec<u8>, u64)>) {
        let found = self.read_ledger(entries);
        self.oracle.loaded(&found);
        let Phase::Opening(opening) = &mut self.masters[at].phase else { return };
        for ((unit, index), result) in &found {
            opening.recorded.arrive(UnitId(*unit), *index, result, DeviceType::Cpu);
        }
        let prefix = self.job.keys.leases();
        let log = entries.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
        match Leases::read(&self.job.keys, log.map(|(key, (value, _))| (key.clone(), value.clone()))) {
            Ok(leases) => opening.leases = leases,
            Err(damage) => self.oracle.violation(compass_master::core::invariants::C3, damage.to_string()),
        }
        let known = entries.get(&self.job.keys.job_key()).and_then(|(value, _)| JobKey::from_bytes(value));
        // A key of its own for every leader that finds none.
        let made = || (JobKey::new(Digest::of(format!("key of epoch {}", opening.epoch).as_bytes()).0), true);
        opening.key = Some(known.map_or_else(made, |key| (key, false)));
        opening.segment = format!("{:08}-m{at}", opening.epoch.0);
        if opening.epoch.0 > 1 {
            self.oracle.saw("a leader took over");
        }
        let segment = match &self.masters[at].phase {
            Phase::Opening(opening) => opening.segment.clone(),
            _ => return,
        };
        if !self.disk.create(&segment) {
            self.oracle
                .violation(compass_master::core::invariants::L1, format!("segment {segment} is made a second time"));
        }
        self.open_segment(at);
    }

    /// The samples that exist, given what the store recorded.
    pub(super) fn read_ledger(&mut self, entries: &BTreeMap<String, (Vec<u8>, u64)>) -> BTreeMap<(u32, u32), Vec<u8>> {
        let mut found = BTreeMap::new();
        let names: Vec<String> = self.disk.names().cloned().collect();
        for name in names {
            let length = entries.get(&self.job.keys.segment(&name));
            let length = length.and_then(|(value, _)| value.as_slice().try_into().ok()).map(u64::from_le_bytes);
            match self.disk.read(&name, length) {
                Err(error) => self.oracle.violation(compass_master::core::invariants::C3, error.to_string()),
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

    fn open_segment(&mut self, at: usize) {
        let Phase::Opening(opening) = &self.masters[at].phase else { return };
        let (epoch, length) = (opening.epoch, self.disk.synced(&opening.segment));
        let (key, op) = length_op(&self.job.keys, &opening.segment, length);
        let mut ops = vec![op];
        if let Some((job_key, true)) = opening.key {
            ops.push(Op::Put { key: self.job.keys.job_key(), value: job_key.to_bytes() });
        }
        self.call(at, Purpose::Open, Request::Transaction { epoch, key, follows: Some(0), ops });
    }

    fn opened(&mut self, at: usize, revision: u64) {
        let Phase::Opening(opening) = std::mem::replace(&mut self.masters[at].phase, Phase::Standby) else { return };
        let Opening { epoch, recorded, leases, segment, key } = *opening;
        let Some((key, _)) = key else { return };
        let journal = Journal::new(self.job.keys.clone(), epoch, leases.keys.clone());
        let limits = Limits {
            lease_ttl: WORKER_LEASE_MS,
            silence: WORKER_LEASE_MS / 2,
            retry: 10_000,
            losses: 10_000,
            infrastructure: 10_000,
            fewest_attempts: 8,
            unschedulable: 60_000,
            ..Limits::default()
        };
        let duplicates = self.job.duplicates(&recorded);
        let tasks = self.job.tasks((&recorded, &duplicates), &leases.attempts());
        let units = self.job.units().into_iter().map(|(unit, _)| UnitId(unit));
        let done: Vec<_> = units.map(|unit| (unit, recorded.done(unit))).collect();
        let mut core = Core::new(epoch, limits, tasks, recorded).with_duplicates(duplicates);
        if self.mutant != Some(super::Mutant::NoRecoveringWindow) {
            core.recover(0, &leases.former(Epoch(0)));
        }
        let terms = Terms {
            plan: self.job.digest,
            epoch,
            lease_ttl_ms: WORKER_LEASE_MS as u32,
            heartbeat_ms: HEARTBEAT_MS as u32,
            engine_timeout_ms: 0,
            pools: Default::default(),
            key,
            units: self.job.terms(),
        };
        let leader = Leader::new(core, terms, self.job.keys.clone(), Watch::new(done));
        let reign = Reign::new(epoch, leader, journal, (segment, revision), key, self.now);
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
