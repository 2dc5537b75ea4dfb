//! A leader at work: frames in and out, and the group commit: append, sync, one fenced transaction, and only then told.

use super::job::Job;
use super::master::Phase;
use super::mutant::Mutant;
use super::tally::JobEnd;
use super::world::{Happening, Up, World};
use compass_ledger::{CommitStep, GroupCommit};
use compass_proto::{MAX_FRAME_BYTES, intervals_from_wire, spill, v1};
use compass_rpc::{Claim, JobKey, Output};
use compass_run::leader::Leader;
use compass_scheduler::{ConnectionId, DeviceType, Event, Handed, Seq, invariants};
use compass_types::ids::{Epoch, UnitId, WorkerId};
use prost::Message as _;
use std::collections::BTreeMap;
use v1::master_frame::Body;
use v1::worker_frame::Body as Said;

/// Submissions of a group at most: few, so that there are many groups.
pub(super) const MOST: usize = 120;
/// As the driver's clock: what takes longer was a time in which the driver did not listen.
const LONGEST_STEP_MS: u64 = 1_000;

/// Gives a claim the proof that only the job's key can make.
fn prove(held: &mut v1::HeldGrant, worker: &str, nonce: &str, job: &Job, key: &JobKey) {
    let wire = if held.granted.is_empty() { &held.samples } else { &held.granted };
    let (grant, samples) = (held.id.unwrap_or_default().into(), intervals_from_wire(wire));
    let claim = Claim { plan: &job.digest, worker, nonce, grant, unit: UnitId(held.unit), samples: &samples };
    held.proof = key.proof(claim).to_vec();
}

/// Results as the scheduler takes those that count, whatever worker sent them and whatever they are.
fn taken_as_it_is(worker: WorkerId, results: &v1::Results, counted: &[&v1::SampleResult]) -> Event {
    let handed = |result: &&v1::SampleResult| Handed {
        index: result.index,
        result: result.encode_to_vec(),
        failed: matches!(result.outcome, Some(v1::sample_result::Outcome::Failed(_))),
        device: DeviceType::Cpu,
    };
    let (grant, unit) = (results.grant.unwrap_or_default().into(), UnitId(results.unit));
    Event::Results { worker, grant, unit, samples: counted.iter().map(handed).collect() }
}

/// Leader at work on one job.
#[derive(Debug)]
pub(super) struct LedJob {
    pub(super) epoch: Epoch,
    pub(super) leader: Leader,
    pub(super) segment: String,
    key: JobKey,
    commit: GroupCommit,
    /// Length of the segment with what is appended and not synced yet.
    appended: Option<u64>,
    /// The attentive clock: what it shows, and when it was looked at.
    clock: u64,
    looked: u64,
    steps: u64,
    /// Grants as they were sent, by worker, its process and the frame: for a fault of the protocol that repeats them.
    sent_grants: BTreeMap<(usize, u64, u64), Body>,
}

impl LedJob {
    pub(super) fn new(
        epoch: Epoch,
        leader: Leader,
        commit: GroupCommit,
        segment: String,
        key: JobKey,
        now: u64,
    ) -> Self {
        Self {
            epoch,
            leader,
            segment,
            key,
            commit,
            appended: None,
            clock: 0,
            looked: now,
            steps: 0,
            sent_grants: BTreeMap::new(),
        }
    }

    fn time(&mut self, now: u64) -> u64 {
        self.clock += (now - self.looked).min(LONGEST_STEP_MS);
        self.looked = now;
        self.clock
    }
}

impl World {
    pub(super) fn leader_hears(&mut self, at: usize, number: usize, link: usize, what: Up) {
        let (now, known) = (self.now, self.links.all[link].clone());
        let (mutant, job) = (self.mutant, self.jobs[number].clone());
        let latest = self.latest_epoch(number);
        let worker = WorkerId(self.workers[known.worker].name.clone());
        // A former leader that has not heard of its successor takes nothing in any more, and no leader does of a connection
        // that it has cut off.
        let takes_in = |led: &LedJob| match &what {
            Up::Hello(_) => true,
            Up::Frame(_) | Up::Closed => led.leader.is_current(&worker, ConnectionId(link as u64)),
        };
        if self.masters[at].led_job(number).is_some_and(|led| led.epoch >= latest && takes_in(led)) {
            self.is_heard(known.worker);
        }
        let Phase::Leading(led) = &mut self.masters[at].jobs[number].phase else { return };
        let (time, connection, mut out) = (led.time(now), ConnectionId(link as u64), Vec::new());
        match what {
            Up::Hello(mut hello) => {
                if mutant == Some(Mutant::ClaimWithoutProofKept) {
                    hello.held.iter_mut().for_each(|held| prove(held, &hello.worker, &hello.session, &job, &led.key));
                }
                led.leader.hello(time, connection, *hello, &mut out);
            }
            Up::Frame(mut frame) => {
                match &mut frame.body {
                    Some(Said::Failed(failed))
                        if failed.class() == v1::FailureClass::Unable && mutant == Some(Mutant::BarredGrantedAgain) =>
                    {
                        (failed.class, failed.kind) = (v1::FailureClass::Transient.into(), 0);
                    }
                    Some(Said::Results(results)) => {
                        let fits = |result: &&v1::SampleResult| job.fits(results.unit, result);
                        let counted: Vec<_> = match mutant {
                            Some(Mutant::NoRightNeeded) => results.samples.iter().filter(fits).collect(),
                            Some(Mutant::KindUnchecked) => results.samples.iter().collect(),
                            _ => Vec::new(),
                        };
                        if !counted.is_empty() {
                            let event = taken_as_it_is(worker.clone(), results, &counted);
                            led.leader.apply(time, event, &mut out);
                        }
                    }
                    _ => {}
                }
                if mutant == Some(Mutant::RepeatsDropped)
                    && let Some(Said::Results(results)) = &mut frame.body
                {
                    results.samples.retain(|result| !self.oracle.believes((number, results.unit, result.index)));
                }
                led.leader.frame(time, worker, connection, *frame, &mut out);
            }
            Up::Closed if mutant == Some(Mutant::LostWorkerHeard) => {}
            Up::Closed => {
                led.leader.closed(time, worker, connection, &mut out);
            }
        }
        led.commit.submit(out);
        self.led(at, number);
    }

    pub(super) fn leader_ticks(&mut self, at: usize, job: usize) {
        self.leader_decides(at, job, Event::Tick);
        self.tells_demand(at, job);
    }

    pub(super) fn leader_decides(&mut self, at: usize, job: usize, event: Event) {
        let now = self.now;
        let Some(led) = self.masters[at].led_job(job) else { return };
        let (time, mut out) = (led.time(now), Vec::new());
        led.leader.apply(time, event, &mut out);
        led.commit.submit(out);
        self.led(at, job);
    }

    /// Every worker that is gone or cut off counts as heard.
    pub(super) fn hears_the_lost(&mut self, at: usize) {
        for job in 0..self.jobs.len() {
            for worker in 0..self.workers.len() {
                let worker = WorkerId(self.workers[worker].name.clone());
                self.leader_decides(at, job, Event::Heartbeat { worker });
            }
        }
    }

    /// After every step of a leader: its frames leave, its records are written, its rules are checked.
    fn led(&mut self, at: usize, job: usize) {
        if self.mutant == Some(Mutant::GrantBeforeDurable)
            && let Some(led) = self.masters[at].led_job(job)
        {
            led.leader.durable(Seq(u64::MAX));
        }
        self.frames_leave(at, job);
        self.begin_group(at, job);
        let Some(led) = self.masters[at].led_job(job) else { return };
        led.steps += 1;
        let broken = if led.steps % 8 == 0 { invariants::check(led.leader.core()) } else { Vec::new() };
        let watched = led.leader.violations();
        let settled = led.leader.is_settled() && led.commit.is_settled();
        if settled {
            let progress = led.leader.core().progress();
            let refused = led.leader.refusals().map(|(_, refusals)| refusals.not_granted).sum();
            let void = led.leader.refusals().map(|(_, refusals)| refusals.void_claims).sum();
            let failures = led.leader.core().failures();
            let given_up = failures.iter().flat_map(|(unit, samples, _)| samples.iter().map(|index| (unit.0, index)));
            let given_up: Vec<_> = given_up.collect();
            for (count, what) in [
                (progress.adopted, "a grant was adopted"),
                (progress.stolen, "samples were stolen"),
                (progress.repeats, "a result came twice"),
                (progress.divergences, "a result differed from the recorded one"),
                (progress.misfits, "a result did not fit the plan"),
                (refused, "a result that was never granted was refused"),
                (void, "a claim without a proof was void"),
                (given_up.len() as u64, "a sample was given up"),
            ] {
                if count > 0 {
                    self.oracle.saw(what);
                }
            }
            let end = JobEnd::of(&led.leader);
            self.tally.iter_mut().for_each(|tally| tally.ends(job, &end));
            self.job_settled(at, job, given_up);
        }
        self.oracle.violations.extend(broken);
        if watched > 0 {
            self.oracle.violation(invariants::G2, format!("{watched} rules broken within the leader"));
        }
    }

    fn frames_leave(&mut self, at: usize, job: usize) {
        let Some(led) = self.masters[at].led_job(job) else { return };
        let (epoch, mut let_go) = (led.epoch, Vec::new());
        for output in led.leader.outputs().collect::<Vec<_>>() {
            match output {
                Output::Frame { connection, frame } => {
                    let link = connection.0 as usize;
                    let frame = self.as_sent(at, job, link, frame);
                    if let Some(Body::Revoke(revoke)) = &frame.body
                        && self.mutant == Some(Mutant::SplitWithoutAck)
                        && !revoke.samples.is_empty()
                    {
                        let worker = WorkerId(self.workers[self.links.all[link].worker].name.clone());
                        let grant = revoke.grant.unwrap_or_default().into();
                        let samples = intervals_from_wire(&revoke.samples);
                        let_go.push(Event::Returned { worker, grant, samples, held: true });
                    }
                    self.frame_leaves(job, epoch, link, frame);
                }
                Output::Close { connection } => self.stream_ends(connection.0 as usize),
            }
        }
        let_go.into_iter().for_each(|event| self.leader_decides(at, job, event));
    }

    /// A frame as it goes out, where a fault of the protocol changes it.
    fn as_sent(&mut self, at: usize, job: usize, link: usize, mut frame: v1::MasterFrame) -> v1::MasterFrame {
        let (worker, life, mutant) = (self.links.all[link].worker, self.links.all[link].worker_life, self.mutant);
        let Some(led) = self.masters[at].led_job(job).filter(|_| frame.seq > 0) else { return frame };
        let key = (worker, life, frame.seq);
        match &frame.body {
            Some(body @ Body::Grant(_)) if mutant == Some(Mutant::DeadGrantReplayed) => {
                led.sent_grants.insert(key, body.clone());
            }
            Some(Body::Revoke(revoke)) if revoke.only_unbegun && mutant == Some(Mutant::QueuedTaskNeverMoved) => {
                frame.body = None;
            }
            Some(Body::Release(_)) if mutant == Some(Mutant::ReleasedIsDismissed) => {
                frame.body = Some(Body::Shutdown(v1::Shutdown { reason: "another job wants it".into() }));
            }
            None if mutant == Some(Mutant::DeadGrantReplayed) => frame.body = led.sent_grants.get(&key).cloned(),
            _ => {}
        }
        frame
    }

    fn frame_leaves(&mut self, job: usize, epoch: Epoch, link: usize, frame: v1::MasterFrame) {
        let known = self.links.all[link].clone();
        let worker = &mut self.workers[known.worker];
        if worker.life == known.worker_life {
            match &frame.body {
                Some(Body::Grant(grant)) => {
                    let told = (grant.unit, intervals_from_wire(&grant.samples), grant.proof.clone());
                    worker.granted.insert((job, grant.id.unwrap_or_default().into()), told);
                }
                Some(Body::Welcome(welcome)) => {
                    for grant in welcome.kept.iter().filter_map(|kept| kept.now.as_ref()) {
                        let told = (grant.unit, intervals_from_wire(&grant.samples), grant.proof.clone());
                        worker.granted.insert((job, grant.id.unwrap_or_default().into()), told);
                    }
                }
                _ => {}
            }
        }
        let name = worker.name.clone();
        if worker.life == known.worker_life {
            for (of, grant, unit) in worker.is_acknowledged_unable(&frame) {
                // Of a grant of another leader's, this one cannot tell which model it was of.
                if of == job && grant.epoch == epoch {
                    self.oracle.is_unable(job, epoch, (&name, known.worker_life), unit);
                }
            }
        }
        self.oracle.told(job, (&name, known.worker_life), epoch, &frame);
        if known.broken {
            return;
        }
        let (sent, content) = spill(frame.clone());
        if sent.encoded_len() > MAX_FRAME_BYTES {
            self.oracle.violation(invariants::S1, format!("a frame of {} bytes for {name}", sent.encoded_len()));
        }
        if content.is_some() {
            self.oracle.saw("a body of the master's was too large for its frame");
            let arrives = self.links.down(self.now, link, &mut self.rng);
            self.at(arrives, Happening::Fetching { link });
        }
        let arrives = self.links.down(self.now, link, &mut self.rng);
        self.at(arrives, Happening::Down { link, frame });
    }

    fn begin_group(&mut self, at: usize, job: usize) {
        let Some(led) = self.masters[at].led_job(job) else { return };
        let Some(step) = led.commit.begin() else { return };
        let (segment, epoch) = (led.segment.clone(), led.epoch);
        let appended = match step {
            CommitStep::Append(entries) => Some(self.disks[job].append(&segment, &entries)),
            _ => None,
        };
        if let Some(led) = self.masters[at].led_job(job) {
            led.appended = appended;
        }
        let life = self.masters[at].life;
        let pause = if self.rng.chance(20) { self.rng.between(50, 400) } else { self.rng.between(1, 10) };
        self.after(pause, Happening::Synced { master: at, life, job, epoch });
    }

    pub(super) fn synced(&mut self, at: usize, job: usize, epoch: Epoch) {
        let early = self.mutant == Some(Mutant::CommitBeforeLength);
        let Some(led) = self.masters[at].led_job(job).filter(|led| led.epoch == epoch) else { return };
        if let Some(last) = led.commit.under_way().filter(|_| early) {
            led.leader.durable(last);
        }
        let (segment, appended) = (led.segment.clone(), led.appended.take());
        let step = led.commit.appended(appended);
        self.disks[job].sync(&segment);
        self.frames_leave(at, job);
        self.goes_on(at, job, step);
    }

    /// A transaction of the group took effect.
    pub(super) fn committed(&mut self, at: usize, job: usize) {
        let Some(led) = self.masters[at].led_job(job) else { return };
        let step = led.commit.committed();
        self.goes_on(at, job, step);
    }

    fn goes_on(&mut self, at: usize, job: usize, step: CommitStep) {
        match step {
            CommitStep::Commit(ops) => self.write(at, job, ops),
            CommitStep::Durable(up_to) => {
                if let Some(led) = self.masters[at].led_job(job) {
                    led.leader.durable(up_to);
                }
                self.led(at, job);
            }
            CommitStep::Append(_) | CommitStep::Check => {}
        }
    }

    pub(super) fn cancel(&mut self, job: usize) {
        if let Some(at) = self.leader_of(job) {
            self.oracle.saw("the job was cancelled");
            if self.jobs.len() > 1 && self.over[job].is_none() {
                self.oracle.saw("a job was cancelled while others went on");
            }
            self.cancelled[job] = true;
            if self.mutant == Some(Mutant::CancelUnheard) {
                return;
            }
            self.leader_decides(at, job, Event::Cancel { reason: "somebody asked for it".into() });
        }
    }

    /// A worker is to leave the job that it works for, as if another job wanted it.
    pub(super) fn is_let_go(&mut self, at: usize) {
        let job = self.workers[at].job.unwrap_or_default();
        if let Some(leader) = self.leader_of(job) {
            let worker = WorkerId(self.workers[at].name.clone());
            self.leader_decides(leader, job, Event::Release { worker });
        }
    }
}
