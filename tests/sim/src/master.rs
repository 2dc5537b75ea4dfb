//! A master's process: stands by, leads, loads what is recorded of its jobs and runs them, ends when it hears that another
//! has led.
//!
//! With one job it is `compass-master --config`: each of several contests the lead of that job. With more it is
//! `compass-master serve`: each contests the lead of the server, and the one that has it contests the lead of every job.

use super::disk::Found;
use super::lead::{Call, Led, Term};
use super::led_job::{LedJob, MOST};
use super::mutant::Mutant;
use super::pool::Waiting;
use super::worker::FAR;
use super::world::{Happening, World};
use compass_ledger::GroupCommit;
use compass_rpc::{JobKey, PoolTerms, RunParameters, Uploads};
use compass_run::Opening;
use compass_run::leader::Leader;
use compass_scheduler::broker::{self, Dispatcher};
use compass_scheduler::{DeviceType, Duplicates, Event, Labels, Limits, Supply, Watch, invariants};
use compass_store::Op;
use compass_types::ids::{Digest, Epoch, UnitId};
use std::collections::BTreeMap;
use std::convert::Infallible;

const TICK_MS: u64 = 250;
/// Room for uploads: few at a time.
const UPLOAD_BYTES: u64 = 650_000;
/// Leases of workers.
pub(super) const WORKER_LEASE_MS: u64 = 6_000;
pub(super) const HEARTBEAT_MS: u64 = 600;

/// A leader that has not begun yet.
#[derive(Debug)]
pub(super) struct PrefixRun {
    opening: Opening,
    segment: String,
    key: JobKey,
}

#[derive(Debug, Default)]
pub(super) enum Phase {
    #[default]
    Standby,
    /// Leads, and reads what it takes over; then what that is, while the first writes are under way.
    Opening(Option<Box<PrefixRun>>),
    Leading(Box<LedJob>),
}

/// A job as one master runs it.
#[derive(Debug, Default)]
pub(super) struct JobRun {
    pub(super) term: Term,
    pub(super) phase: Phase,
    /// Operations that are being written, in one transaction.
    pub(super) writes: Option<Vec<Op>>,
    /// Set if the master has taken it from the server's book.
    pub(super) has_begun: bool,
    /// Since when nothing is left to do but to hear the last of its workers.
    pub(super) settled: Option<u64>,
}

/// Process of a master.
#[derive(Debug)]
pub(super) struct Master {
    pub(super) life: u64,
    pub(super) up: bool,
    pub(super) paused_until: u64,
    pub(super) isolated_until: u64,
    /// Until when what it asks the store is held up on its way.
    pub(super) held_until: u64,
    number: usize,
    /// The lead of the server, where several jobs share it.
    pub(super) server: Term,
    pub(super) jobs: Vec<JobRun>,
    pub(super) dispatcher: Dispatcher,
    /// Hellos on connections that wait for a job.
    pub(super) waiting: BTreeMap<usize, Waiting>,
    /// Content that workers bring in place of frames that are too large.
    pub(super) uploads: Uploads,
    pub(super) calls: BTreeMap<u64, Call>,
    pub(super) last_call: u64,
}

impl Master {
    pub(super) fn new(number: usize, jobs: usize) -> Self {
        Self {
            life: 0,
            up: false,
            paused_until: 0,
            isolated_until: 0,
            held_until: 0,
            number,
            server: Term::default(),
            jobs: (0..jobs).map(|_| JobRun::default()).collect(),
            dispatcher: Dispatcher::default(),
            waiting: BTreeMap::new(),
            uploads: Uploads::of(UPLOAD_BYTES),
            calls: BTreeMap::new(),
            last_call: 0,
        }
    }

    /// Returns whether it leads a job.
    pub(super) fn leads(&self, job: usize) -> bool {
        matches!(self.jobs[job].phase, Phase::Leading(_))
    }

    /// Returns whether it leads any job.
    pub(super) fn is_leading(&self) -> bool {
        (0..self.jobs.len()).any(|job| self.leads(job))
    }

    /// Returns whether its ports are open: a master with one job opens them when it leads that, a server when it leads as one.
    pub(super) fn is_serving(&self) -> bool {
        if self.jobs.len() == 1 { self.leads(0) } else { self.server.lead.is_some() }
    }

    pub(super) fn led_job(&mut self, job: usize) -> Option<&mut LedJob> {
        match &mut self.jobs[job].phase {
            Phase::Leading(led) => Some(led),
            _ => None,
        }
    }
}

impl World {
    pub(super) fn master_starts(&mut self, at: usize) {
        let (life, number) = (self.masters[at].life + 1, self.masters[at].number);
        let last_call = self.masters[at].last_call;
        self.masters[at] = Master { life, up: true, last_call, ..Master::new(number, self.jobs.len()) };
        self.after(1, Happening::MasterTick { master: at, life });
    }

    /// The process that leads a job and is not stopped, if there is one.
    pub(super) fn leader_of(&self, job: usize) -> Option<usize> {
        let leads = |at: &usize| self.masters[*at].up && self.masters[*at].leads(job);
        (0..self.masters.len()).find(leads).filter(|&at| self.masters[at].paused_until <= self.now)
    }

    pub(super) fn master_tick(&mut self, at: usize) {
        let life = self.masters[at].life;
        self.after(TICK_MS, Happening::MasterTick { master: at, life });
        if self.is_shared() {
            self.contests(at, Led::Server);
            self.begin_submitted(at);
        } else {
            self.masters[at].jobs[0].has_begun = true;
        }
        for job in 0..self.jobs.len() {
            let run = &self.masters[at].jobs[job];
            if run.has_begun && (self.over[job].is_none() || run.term.lead.is_some()) {
                self.contests(at, Led::Job(job));
            }
        }
        self.masters[at].uploads.expire(self.instant());
        if self.mutant == Some(Mutant::LostWorkerHeard) {
            self.hears_the_lost(at);
        }
        for job in 0..self.jobs.len() {
            self.leader_ticks(at, job);
        }
        if self.masters[at].is_serving() {
            self.dispatches(at, Dispatcher::decide);
            self.no_worker_idles();
        }
    }

    /// Returns whether several jobs share the server.
    pub(super) fn is_shared(&self) -> bool {
        self.jobs.len() > 1
    }

    /// This master is the server from now on: it takes every job from the book, and then opens its ports.
    pub(super) fn server_opens(&mut self, at: usize, epoch: Epoch) {
        self.begin_submitted(at);
        let begun = self.masters[at].jobs.iter().filter(|run| run.has_begun).count();
        if epoch.0 > 1 && begun > 1 {
            self.oracle.saw("a standby took over several jobs");
        }
    }

    /// Takes from the book what was submitted meanwhile.
    fn begin_submitted(&mut self, at: usize) {
        if !self.masters[at].is_serving() {
            return;
        }
        for job in 0..self.jobs.len() {
            let is_due = self.scenario.begins(job) <= self.now && self.over[job].is_none();
            if is_due && !self.masters[at].jobs[job].has_begun {
                self.masters[at].jobs[job].has_begun = true;
                if self.masters[at].is_leading() {
                    self.oracle.saw("a job was submitted while others ran");
                }
                self.expects(at, job);
            }
        }
    }

    /// Reads store and disk as a leader does before it begins.
    pub(super) fn load(&mut self, at: usize, job: usize, entries: &BTreeMap<String, Vec<u8>>) {
        let Some(epoch) = self.epoch_led(at, Led::Job(job)) else { return };
        let found = self.read_ledger(job, entries);
        self.oracle.loaded(job, &found);
        let mut opening = match Opening::observe(self.jobs[job].keys.clone(), entries) {
            Ok(opening) => opening,
            Err(damage) => return self.oracle.violation(invariants::C3, damage.to_string()),
        };
        let found = if self.mutant == Some(Mutant::LedgerForgotten) { BTreeMap::new() } else { found };
        for ((unit, index), result) in &found {
            opening.result(UnitId(*unit), *index, result, DeviceType::Cpu);
        }
        if epoch.0 > 1 {
            self.oracle.saw("a leader took over");
        }
        let segment = format!("{:08}-m{at}", epoch.0);
        if !self.disks[job].create(&segment) {
            self.oracle.violation(invariants::L1, format!("segment {segment} is made a second time"));
        }
        // A key of its own for every leader that finds none.
        let made = || Ok::<_, Infallible>(JobKey::new(Digest::of(format!("key of epoch {epoch}").as_bytes()).0));
        let Ok((mut key, first)) = opening.first_writes(&segment, self.disks[job].synced(&segment), made);
        if self.mutant == Some(Mutant::KeyMadeAgain) {
            key = JobKey::new(Digest::of(format!("another key of epoch {epoch}").as_bytes()).0);
        }
        self.masters[at].jobs[job].phase = Phase::Opening(Some(Box::new(PrefixRun { opening, segment, key })));
        self.write(at, job, first);
    }

    /// The samples of a job that exist, given what the store recorded.
    pub(super) fn read_ledger(
        &mut self,
        job: usize,
        entries: &BTreeMap<String, Vec<u8>>,
    ) -> BTreeMap<(u32, u32), Vec<u8>> {
        let mut found = BTreeMap::new();
        let names: Vec<String> = self.disks[job].names().cloned().collect();
        for name in names {
            let length = entries.get(&self.jobs[job].keys.segment(&name));
            let length = length.and_then(|value| value.as_slice().try_into().ok()).map(u64::from_le_bytes);
            match self.disks[job].read(&name, length) {
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

    /// The first writes of a leader are durable: it begins, and takes workers.
    pub(super) fn opened(&mut self, at: usize, number: usize) {
        let Some(epoch) = self.epoch_led(at, Led::Job(number)) else { return };
        let (job, shared) = (self.jobs[number].clone(), self.is_shared());
        let phase = std::mem::take(&mut self.masters[at].jobs[number].phase);
        let Phase::Opening(Some(beginning)) = phase else { return };
        let PrefixRun { opening, segment, key } = *beginning;
        let limits = Limits {
            lease_ttl: WORKER_LEASE_MS,
            silence: WORKER_LEASE_MS / 2,
            retry: 10_000,
            losses: 10_000,
            infrastructure: 10_000,
            fewest_attempts: 8,
            unschedulable: 60_000,
            split: self.scenario.split,
            workers_stay: shared,
            max_slots: self.scenario.bound_of(number).filter(|_| !shared),
            places: if self.mutant == Some(Mutant::PlacesForgotten) { BTreeMap::new() } else { job.places() },
            most_workers: job.most_workers(),
            ..Limits::default()
        };
        let commit = GroupCommit::new(opening.assignment_log(epoch), &job.keys, &segment, MOST);
        let recorded = opening.recorded();
        let is_each_computed = self.mutant == Some(Mutant::DuplicatesComputed);
        let duplicates = if is_each_computed { Duplicates::default() } else { job.duplicates(recorded) };
        let tasks = job.tasks((recorded, &duplicates), &opening.attempts());
        let units = job.units().into_iter().map(|(unit, _)| UnitId(unit));
        let done: Vec<_> = units.map(|unit| (unit, recorded.done(unit))).collect();
        let may_hold = self.mutant != Some(Mutant::NoRecoveringWindow);
        let offline_continue = self.mutant != Some(Mutant::OfflineTermsWithheld);
        let core = opening.core(epoch, limits, tasks, (duplicates, Labels::default()), |_| may_hold);
        let terms = RunParameters {
            plan: job.digest,
            epoch,
            lease_ttl_ms: WORKER_LEASE_MS as u32,
            heartbeat_ms: HEARTBEAT_MS as u32,
            engine_timeout_ms: 0,
            pools: [(FAR.to_owned(), PoolTerms { offline_continue, ..PoolTerms::default() })].into(),
            key,
            units: job.terms(),
        };
        let leader = Leader::new(core, terms, job.keys.clone(), Watch::new(done));
        let led = LedJob::new(epoch, leader, commit, segment, key, self.now);
        self.masters[at].jobs[number].phase = Phase::Leading(Box::new(led));
        let weight = self.scenario.weight(number);
        let bound = self.scenario.bound_of(number).filter(|_| self.mutant != Some(Mutant::BoundForgotten));
        let terms = broker::JobTerms { weight, bound, models: job.models(), everyone: !shared };
        self.dispatches(at, |dispatcher, now, out| dispatcher.enter(now, job.id.clone(), terms, job.digest, out));
        if self.mutant == Some(Mutant::SupplyDenied) {
            self.leader_decides(at, number, Event::Supply(Supply::None));
        }
        // The server's records have it, whichever master leads.
        if shared && self.cancelled[number] {
            self.leader_decides(at, number, Event::Cancel { reason: "it was cancelled before".into() });
        }
    }

    /// Another leads, or has led: the process ends and is started again, or runs the job no more and contests it again.
    pub(super) fn step_down(&mut self, at: usize, led: Led) {
        self.oracle.note(self.now, || format!("m{at} steps down from {led:?}"));
        match led {
            Led::Job(job) if self.is_shared() => {
                self.oracle.saw("a server lost the lead of a job");
                self.job_stops(at, job);
                self.masters[at].jobs[job].has_begun = true;
                self.expects(at, job);
            }
            _ => self.master_dies(at, 1_000),
        }
    }

    /// The stage of a job is over in this process.
    pub(super) fn job_stops(&mut self, at: usize, job: usize) {
        let run = std::mem::take(&mut self.masters[at].jobs[job]);
        self.masters[at].calls.retain(|_, call| call.led != Led::Job(job));
        if let Phase::Leading(led) = run.phase {
            self.disks[job].crash(&led.segment, &mut self.rng);
            self.stage_leaves(at, job);
        }
    }

    pub(super) fn master_dies(&mut self, at: usize, back_after: u64) {
        if !self.masters[at].up {
            return;
        }
        let life = self.masters[at].life;
        let was_serving = self.masters[at].is_serving();
        self.masters[at].up = false;
        for job in 0..self.jobs.len() {
            let phase = std::mem::take(&mut self.masters[at].jobs[job].phase);
            if let Phase::Leading(led) = phase {
                self.oracle.saw("a leader died");
                if self.disks[job].crash(&led.segment, &mut self.rng) {
                    self.oracle.saw("a segment was torn");
                }
            }
        }
        if was_serving {
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
