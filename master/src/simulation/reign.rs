//! A leader at work: frames in and out, and the group commit: append, sync, one fenced transaction, and only then told.

use super::master::{Phase, Purpose};
use super::mutant::Mutant;
use super::plan;
use super::store::Request;
use super::world::{Happening, Up, World};
use crate::core::{ConnectionId, Event, invariants};
use crate::leader::Leader;
use crate::ledger::{Batch, Journal, Submission};
use crate::rpc::Output;
use crate::store::Op;
use compass_common::ids::{Epoch, WorkerId};
use std::collections::{BTreeMap, VecDeque};

const MOST: usize = 120;
/// As the driver's clock: what takes longer was a time in which nobody listened.
const LONGEST_STEP_MS: u64 = 1_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Reign {
    pub(super) epoch: Epoch,
    pub(super) leader: Leader,
    pub(super) segment: String,
    revision: u64,
    submitted: VecDeque<Submission>,
    journal: Journal,
    batch: Option<Batch>,
    /// The attentive clock: what it shows, and when it was looked at.
    clock: u64,
    looked: u64,
    steps: u64,
}

impl Reign {
    pub(super) fn new(
        epoch: Epoch,
        leader: Leader,
        journal: Journal,
        segment: String,
        revision: u64,
        now: u64,
    ) -> Self {
        Self {
            epoch,
            leader,
            segment,
            revision,
            submitted: VecDeque::new(),
            journal,
            batch: None,
            clock: 0,
            looked: now,
            steps: 0,
        }
    }

    fn time(&mut self, now: u64) -> u64 {
        self.clock += (now - self.looked).min(LONGEST_STEP_MS);
        self.looked = now;
        self.clock
    }
}

impl World {
    pub(super) fn leader_hears(&mut self, at: usize, link: usize, what: Up) {
        let (now, known) = (self.now, self.links.all[link].clone());
        let worker = WorkerId(self.workers[known.worker].name.clone());
        let Some(reign) = self.masters[at].reign() else { return };
        let (time, connection, mut out) = (reign.time(now), ConnectionId(link as u64), Vec::new());
        match what {
            Up::Hello(hello) => {
                reign.leader.hello(time, connection, hello, &mut out);
            }
            Up::Frame(frame) => {
                reign.leader.frame(time, worker, connection, frame, &mut out);
            }
            Up::Closed => {
                reign.leader.closed(time, worker, connection, &mut out);
            }
        }
        reign.submitted.extend(out);
        self.led(at);
    }

    pub(super) fn leader_ticks(&mut self, at: usize) {
        self.leader_decides(at, Event::Tick);
    }

    pub(super) fn leader_decides(&mut self, at: usize, event: Event) {
        let now = self.now;
        let Some(reign) = self.masters[at].reign() else { return };
        let (time, mut out) = (reign.time(now), Vec::new());
        reign.leader.apply(time, event, &mut out);
        reign.submitted.extend(out);
        self.led(at);
    }

    /// After every step of a leader: its frames leave, its records are written, its rules are checked.
    fn led(&mut self, at: usize) {
        self.frames_leave(at);
        self.begin_batch(at);
        let Some(reign) = self.masters[at].reign() else { return };
        reign.steps += 1;
        let broken = if reign.steps % 8 == 0 { invariants::check(reign.leader.core()) } else { Vec::new() };
        let watched = reign.leader.violations();
        let settled = reign.leader.is_settled() && reign.batch.is_none() && reign.submitted.is_empty();
        if settled {
            let progress = reign.leader.core().progress();
            let refused = reign.leader.refusals().map(|(_, refusals)| refusals.not_granted).sum();
            let void = reign.leader.refusals().map(|(_, refusals)| refusals.void_claims).sum();
            let failures = reign.leader.core().failures();
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
            self.over = Some(given_up);
        }
        self.oracle.violations.extend(broken);
        if watched > 0 {
            self.oracle.violation(invariants::G2, format!("{watched} rules broken within the leader"));
        }
    }

    fn frames_leave(&mut self, at: usize) {
        let Some(reign) = self.masters[at].reign() else { return };
        for output in reign.leader.outputs().collect::<Vec<_>>() {
            let link = match &output {
                Output::Frame { connection, .. } | Output::Close { connection } => connection.0 as usize,
            };
            let happening = match output {
                Output::Frame { frame, .. } => {
                    self.oracle.told(&self.workers[self.links.all[link].worker].name, &frame);
                    if self.links.all[link].broken {
                        continue;
                    }
                    Happening::Down { link, frame }
                }
                // The stream's end follows what was sent on it.
                Output::Close { .. } => Happening::Lost { link },
            };
            let arrives = self.links.down(self.now, link, &mut self.rng);
            self.at(arrives, happening);
        }
    }

    fn begin_batch(&mut self, at: usize) {
        let Some(reign) = self.masters[at].reign().filter(|reign| reign.batch.is_none()) else { return };
        let count = reign.submitted.len().min(MOST);
        if count == 0 {
            return;
        }
        let mut batch = reign.journal.batch(reign.submitted.drain(..count));
        let segment = reign.segment.clone();
        let length = self.disk.append(&segment, &batch.entries);
        let key = plan::keys().segment(&segment);
        batch.ops.push(Op::Put { key, value: length.to_le_bytes().to_vec() });
        let life = self.masters[at].life;
        if let Some(reign) = self.masters[at].reign() {
            reign.batch = Some(batch);
        }
        let pause = if self.rng.chance(20) { self.rng.between(50, 400) } else { self.rng.between(1, 10) };
        self.after(pause, Happening::Synced { master: at, life });
    }

    pub(super) fn synced(&mut self, at: usize) {
        if !self.leads_on(at) {
            return;
        }
        let early = self.mutant == Some(Mutant::CommitBeforeLength);
        let Some(reign) = self.masters[at].reign() else { return };
        let (segment, last) = (reign.segment.clone(), reign.batch.as_ref().map(|batch| batch.last));
        if let Some(last) = last.filter(|_| early) {
            reign.leader.durable(last);
        }
        self.disk.sync(&segment);
        self.frames_leave(at);
        self.transact(at);
    }

    fn transact(&mut self, at: usize) {
        let loose = matches!(self.mutant, Some(Mutant::UnguardedLength | Mutant::NoRereadAfterTimeout));
        let Some(reign) = self.masters[at].reign() else { return };
        let Some(batch) = &reign.batch else { return };
        let request = Request::Transaction {
            epoch: reign.epoch,
            key: plan::keys().segment(&reign.segment),
            follows: (!loose).then_some(reign.revision),
            ops: batch.ops.clone(),
        };
        self.call(at, Purpose::Commit, request);
    }

    /// The batch is durable.
    pub(super) fn committed(&mut self, at: usize, revision: Option<u64>) {
        let Some(reign) = self.masters[at].reign() else { return };
        let Some(batch) = reign.batch.take() else { return };
        reign.revision = revision.unwrap_or(reign.revision);
        reign.leader.durable(batch.last);
        self.led(at);
    }

    /// Nobody knows whether the transaction took effect: its segment's record tells.
    pub(super) fn commit_unanswered(&mut self, at: usize) {
        self.oracle.saw("a transaction was not answered");
        if self.mutant == Some(Mutant::NoRereadAfterTimeout) {
            self.committed(at, None);
        } else {
            self.call(at, Purpose::CommitAgain, Request::Read);
        }
    }

    pub(super) fn look_again(&mut self, at: usize, entries: &BTreeMap<String, (Vec<u8>, u64)>) {
        let Some(reign) = self.masters[at].reign() else { return };
        let found = entries.get(&plan::keys().segment(&reign.segment)).map_or(0, |(_, revision)| *revision);
        let unguarded = self.mutant == Some(Mutant::UnguardedLength);
        let Some(reign) = self.masters[at].reign() else { return };
        if found != reign.revision && !unguarded {
            self.oracle.saw("a transaction without an answer had taken effect");
            self.committed(at, Some(found));
        } else {
            self.oracle.saw("a transaction without an answer had not taken effect");
            self.transact(at);
        }
    }

    pub(super) fn cancel(&mut self) {
        let leading = self.masters.iter().position(|master| master.up && matches!(master.phase, Phase::Leading(_)));
        if let Some(at) = leading.filter(|&at| self.masters[at].paused_until <= self.now)
            && self.leads_on(at)
        {
            self.oracle.saw("the job was cancelled");
            self.cancelled = true;
            self.leader_decides(at, Event::Cancel { reason: "somebody asked for it".into() });
        }
    }
}
