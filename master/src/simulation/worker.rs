//! A worker's process, as the agent is: its own deadline, an outbox that is replayed, packs that are begun and ended.

use super::master::{HEARTBEAT_MS, WORKER_LEASE_MS};
use super::plan;
use super::world::{Happening, Up, World};
use compass_common::ids::{Attempt, Epoch, GrantId, TaskId};
use compass_common::intervals::IntervalSet;
use compass_proto::{intervals_to_wire, v1};
use std::collections::{BTreeMap, VecDeque};
use v1::worker_frame::Body;

const TICK_MS: u64 = 400;
const PACK: usize = 3;
/// A master that is silent for so long is left.
const SILENCE_MS: u64 = WORKER_LEASE_MS / 2;

#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) key: GrantId,
    pub(super) unit: u32,
    pub(super) samples: IntervalSet,
    pub(super) waiting: IntervalSet,
    pub(super) running: IntervalSet,
    pub(super) revoked: bool,
    pub(super) begun: bool,
    pub(super) assigned: Assigned,
}

/// A grant as it was made: its samples, and the master's proof.
pub(super) type Assigned = (IntervalSet, Vec<u8>);

#[derive(Clone, Debug)]
pub(super) struct Pack {
    id: u64,
    pub(super) grant: GrantId,
    unit: u32,
    samples: Vec<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct Stream {
    link: usize,
    opened: u64,
    pub(super) hello_sent: u64,
    pub(super) welcomed: bool,
    pub(super) handled: u64,
    /// Highest frame of the outbox that went to it.
    sent: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) name: String,
    pub(super) life: u64,
    pub(super) alive: bool,
    pub(super) paused_until: u64,
    pub(super) times: u64,
    pub(super) slow_until: u64,
    slots: u32,
    number: usize,
    pub(super) deadline: u64,
    pub(super) epoch: u64,
    pub(super) active: u32,
    pub(super) held: Vec<Held>,
    pub(super) seen: BTreeMap<TaskId, (Epoch, Attempt)>,
    /// With the grant that results or a report belong to.
    outbox: VecDeque<(u64, Body, Option<Assigned>)>,
    last_seq: u64,
    pub(super) stream: Option<Stream>,
    dial_at: u64,
    master: usize,
    pub(super) heard: u64,
    checked: u64,
    pub(super) beat_at: u64,
    pub(super) packs: Vec<Option<Pack>>,
    last_pack: u64,
    pub(super) draining: bool,
    /// How long it will work for another job once it has left this one.
    pub(super) away: u64,
    /// Whether it was told to leave, and for how long.
    pub(super) leaving: Option<u64>,
    /// Claims that its hellos make beside what it holds.
    pub(super) claims: Vec<v1::HeldGrant>,
    /// How many of its next results do not fit the plan, and in which way.
    pub(super) garbles: (u32, u64),
}

impl Worker {
    pub(super) fn new(number: usize, slots: u32) -> Self {
        Self {
            name: format!("w{number}"),
            life: 0,
            alive: false,
            paused_until: 0,
            times: 1,
            slow_until: 0,
            slots,
            number,
            deadline: 0,
            epoch: 0,
            active: slots,
            held: Vec::new(),
            seen: BTreeMap::new(),
            outbox: VecDeque::new(),
            last_seq: 0,
            stream: None,
            dial_at: 0,
            master: 0,
            heard: 0,
            checked: 0,
            beat_at: 0,
            packs: Vec::new(),
            last_pack: 0,
            draining: false,
            away: 0,
            leaving: None,
            claims: Vec::new(),
            garbles: (0, 0),
        }
    }

    /// Whether the master has everything that it is to have from it.
    pub(super) fn is_through(&self) -> bool {
        self.held.is_empty() && self.outbox.is_empty() && self.packs.iter().all(Option::is_none)
    }

    pub(super) fn is_on(&self, link: usize) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.link == link)
    }

    pub(super) fn link(&self) -> Option<usize> {
        self.stream.as_ref().map(|stream| stream.link)
    }

    pub(super) fn push(&mut self, body: Body) {
        self.last_seq += 1;
        self.outbox.push_back((self.last_seq, body, None));
    }

    /// Results or the report of a grant: until they are acknowledged, the hello presents it.
    pub(super) fn push_of(&mut self, assigned: Assigned, body: Body) {
        self.push(body);
        if let Some((_, _, of)) = self.outbox.back_mut() {
            *of = Some(assigned);
        }
    }

    /// Frames up to `seq` need not be said again; the results among them.
    pub(super) fn acknowledged(&mut self, seq: u64) -> Vec<(u32, u32)> {
        let mut gone = Vec::new();
        while self.outbox.front().is_some_and(|(at, ..)| *at <= seq) {
            if let Some((_, Body::Results(results), Some(_))) = self.outbox.pop_front() {
                // What does not fit the plan is acknowledged and never recorded.
                let fitting = results.samples.iter().filter(|result| plan::fits(result));
                gone.extend(fitting.map(|result| (results.unit, result.index)));
            }
        }
        gone
    }

    /// What the hello lists: what waits, runs or is on its way.
    fn listed(&self) -> Vec<v1::HeldGrant> {
        let mut all: BTreeMap<GrantId, (u32, IntervalSet, Assigned)> = BTreeMap::new();
        for held in &self.held {
            let pairs = held.waiting.pairs().iter().chain(held.running.pairs()).copied();
            all.insert(held.key, (held.unit, IntervalSet::from_pairs(pairs), held.assigned.clone()));
        }
        for (_, body, assigned) in &self.outbox {
            let Some(assigned) = assigned else { continue };
            let (key, unit, results) = match body {
                Body::Results(results) => {
                    let indices: Vec<u32> = results.samples.iter().map(|result| result.index).collect();
                    (results.grant.unwrap_or_default().into(), results.unit, indices)
                }
                Body::Report(report) => (report.grant.unwrap_or_default().into(), report.unit, Vec::new()),
                _ => continue,
            };
            let (_, samples, _) = all.entry(key).or_insert_with(|| (unit, IntervalSet::new(), assigned.clone()));
            for index in results {
                samples.insert(index);
            }
        }
        let wire = all.into_iter().map(|(key, (unit, samples, (granted, proof)))| v1::HeldGrant {
            id: Some(key.into()),
            unit,
            samples: intervals_to_wire(&samples),
            proof,
            granted: intervals_to_wire(&granted),
        });
        let wire = wire.chain(self.claims.iter().cloned());
        wire.collect()
    }
}

impl World {
    pub(super) fn worker_starts(&mut self, at: usize) {
        let now = self.now;
        let worker = &mut self.workers[at];
        let (life, number, slots) = (worker.life + 1, worker.number, worker.slots);
        *worker = Worker::new(number, slots);
        (worker.life, worker.alive, worker.heard, worker.checked) = (life, true, now, now);
        worker.packs = (0..slots).map(|_| None).collect();
        self.worker_tick(at);
    }

    pub(super) fn worker_dies(&mut self, at: usize, back_after: u64) {
        let worker = &mut self.workers[at];
        if !worker.alive {
            return;
        }
        let idle = worker.held.is_empty();
        worker.alive = false;
        let link = worker.link();
        self.oracle.saw(if idle { "an idle worker died" } else { "a worker died with what it held" });
        if let Some(link) = link {
            self.sever(link, 2_500);
        }
        self.after(back_after, Happening::WorkerStarts { worker: at });
    }

    pub(super) fn worker_tick(&mut self, at: usize) {
        let (now, life) = (self.now, self.workers[at].life);
        self.after(TICK_MS, Happening::WorkerTick { worker: at, life });
        // While the process was stopped it could hear nobody: that is no silence of the master's.
        let worker = &mut self.workers[at];
        let absent = now - worker.checked;
        worker.checked = now;
        if absent > SILENCE_MS / 2 {
            worker.heard = (worker.heard + absent).min(now);
        }
        let worker = &self.workers[at];
        let silent = worker.stream.as_ref().is_some_and(|stream| {
            let since = if stream.welcomed { worker.heard } else { stream.opened };
            now >= since + SILENCE_MS
        });
        if silent {
            self.redial(at);
        }
        let worker = &self.workers[at];
        if worker.stream.is_none() && now >= worker.dial_at {
            self.dial(at);
        }
        let worker = &mut self.workers[at];
        if now >= worker.beat_at && worker.stream.as_ref().is_some_and(|stream| stream.welcomed) {
            worker.beat_at = now + HEARTBEAT_MS;
            self.say(at, 0, Body::Heartbeat(v1::Heartbeat { sent_ms: now }));
        }
        self.worker_works(at);
    }

    fn dial(&mut self, at: usize) {
        let now = self.now;
        let worker = &self.workers[at];
        let (master, life) = (worker.master % self.masters.len(), worker.life);
        let link = self.links.connect(at, life, master, self.masters[master].life);
        let worker = &mut self.workers[at];
        let hello = v1::Hello {
            protocol: compass_proto::PROTOCOL_VERSION,
            oldest_protocol: compass_proto::OLDEST_PROTOCOL,
            worker: worker.name.clone(),
            session: format!("{}.{life}", worker.name),
            slots: worker.slots,
            device: "cpu".into(),
            has_engine: true,
            held: worker.listed(),
            last_ack: 0,
            sandbox: None,
            plan: Vec::new(),
            models: Vec::new(),
            pool: String::new(),
            host: String::new(),
            dial: link as u64,
            first_seq: worker.outbox.front().map_or(worker.last_seq + 1, |(seq, ..)| *seq),
        };
        let (welcomed, handled, sent) = (false, 0, 0);
        worker.stream = Some(Stream { link, opened: now, hello_sent: now, welcomed, handled, sent });
        for arrives in self.links.up(now, link, &mut self.rng).into_iter().take(1) {
            self.at(arrives, Happening::Up { link, what: Up::Hello(hello.clone()) });
        }
    }

    /// Leaves the master, and tries the next one in a while.
    pub(super) fn redial(&mut self, at: usize) {
        let pause = self.rng.between(50, 600);
        self.hang_up(at, pause);
    }

    /// Ends the connection, and dials the next master after so long.
    pub(super) fn hang_up(&mut self, at: usize, pause: u64) {
        let worker = &mut self.workers[at];
        let Some(stream) = worker.stream.take() else { return };
        worker.master += 1;
        worker.dial_at = self.now + pause;
        // What was sent before still arrives, unless the connection is broken.
        let arrives = self.links.up(self.now, stream.link, &mut self.rng);
        for at in arrives.into_iter().take(1) {
            self.at(at, Happening::Up { link: stream.link, what: Up::Closed });
        }
    }

    /// Sends a frame on the present connection.
    pub(super) fn say(&mut self, at: usize, seq: u64, body: Body) {
        let Some(stream) = &self.workers[at].stream else { return };
        let (link, ack) = (stream.link, stream.handled);
        let frame = v1::WorkerFrame { seq, ack, body: Some(body) };
        for arrives in self.links.up(self.now, link, &mut self.rng) {
            self.at(arrives, Happening::Up { link, what: Up::Frame(frame.clone()) });
        }
    }

    /// Whatever the worker can do now: hand in, begin, end.
    pub(super) fn worker_works(&mut self, at: usize) {
        self.settle_all(at);
        self.begin_packs(at);
        loop {
            let worker = &mut self.workers[at];
            let Some(stream) = worker.stream.as_mut().filter(|stream| stream.welcomed) else { break };
            let Some((seq, body, _)) = worker.outbox.iter().find(|(seq, ..)| *seq > stream.sent).cloned() else {
                break;
            };
            stream.sent = seq;
            self.say(at, seq, body);
        }
        let worker = &self.workers[at];
        if worker.draining && worker.outbox.is_empty() && worker.packs.iter().all(Option::is_none) {
            self.worker_dies(at, 1_500);
        } else if worker.leaving.is_some() && worker.is_through() {
            self.leave(at);
        }
    }

    fn begin_packs(&mut self, at: usize) {
        let now = self.now;
        if self.workers[at].draining || now >= self.workers[at].deadline {
            return;
        }
        for slot in 0..self.workers[at].active.min(self.workers[at].slots) as usize {
            if self.workers[at].packs[slot].is_some() {
                continue;
            }
            let worker = &self.workers[at];
            let Some(held) = worker.held.iter().find(|held| !held.waiting.is_empty()) else { return };
            let (key, unit) = (held.key, held.unit);
            let samples: Vec<u32> = held.waiting.iter().take(PACK).collect();
            if self.scenario.poison.is_some_and(|(of, index)| of == unit && samples.contains(&index)) {
                self.oracle.saw("a sample that nobody can run was tried");
                self.fail(at, key, "this sample cannot be run".into());
                continue;
            }
            let worker = &mut self.workers[at];
            worker.last_pack += 1;
            let id = worker.last_pack;
            if let Some(held) = worker.held.iter_mut().find(|held| held.key == key) {
                held.begun = true;
                for &sample in &samples {
                    held.waiting.remove(sample);
                    held.running.insert(sample);
                }
            }
            let times = if now < worker.slow_until { worker.times } else { 1 };
            let name = worker.name.clone();
            for &sample in &samples {
                self.oracle.begins(now, &name, unit, sample);
            }
            let each = self.scenario.sample_ms * times;
            let takes = samples.len() as u64 * self.rng.between(each / 2, each * 3 / 2);
            self.workers[at].packs[slot] = Some(Pack { id, grant: key, unit, samples });
            let life = self.workers[at].life;
            self.after(takes.max(1), Happening::PackEnds { worker: at, life, slot, pack: id });
        }
    }

    pub(super) fn pack_ends(&mut self, at: usize, slot: usize, id: u64) {
        let unsteady = if self.scenario.unsteady { at as u64 + 1 } else { 0 };
        let worker = &mut self.workers[at];
        let Some(pack) = worker.packs[slot].take_if(|pack| pack.id == id) else { return };
        if let Some(held) = worker.held.iter_mut().find(|held| held.key == pack.grant) {
            for &sample in &pack.samples {
                held.running.remove(sample);
            }
            let grant = Some(pack.grant.into());
            let (assigned, way) = (held.assigned.clone(), worker.garbles.1);
            let samples = pack.samples.iter().map(|&index| {
                if worker.garbles.0 == 0 {
                    return plan::result(&self.scenario, (pack.unit, index), unsteady);
                }
                worker.garbles.0 -= 1;
                plan::garbled(&self.scenario, (pack.unit, index), way)
            });
            let samples = samples.collect();
            let results =
                v1::Results { grant, unit: pack.unit, plan: plan::digest().0.to_vec(), samples, weights: Vec::new() };
            worker.push_of(assigned, Body::Results(results));
        }
        self.worker_works(at);
    }

    /// Gives a grant up; results so far stand.
    fn fail(&mut self, at: usize, key: GrantId, message: String) {
        let worker = &mut self.workers[at];
        worker.held.retain(|held| held.key != key);
        let class = v1::FailureClass::Transient.into();
        worker.push(Body::Failed(v1::Failed { grant: Some(key.into()), class, message, kind: 0 }));
    }

    pub(super) fn engine_breaks(&mut self, at: usize) {
        let worker = &mut self.workers[at];
        let Some(slot) = worker.packs.iter().position(Option::is_some).filter(|_| worker.alive) else { return };
        let Some(pack) = worker.packs[slot].take() else { return };
        let message = format!("engine {} of {}.{} broke", pack.id, worker.name, worker.life);
        self.oracle.saw("a grant was handed back");
        self.fail(at, pack.grant, message);
        if self.workers[at].paused_until <= self.now {
            self.worker_works(at);
        }
    }

    pub(super) fn drain(&mut self, at: usize) {
        let worker = &mut self.workers[at];
        if !worker.alive || worker.draining {
            return;
        }
        worker.draining = true;
        worker.push(Body::Draining(v1::Draining { reason: "asked to".into() }));
        self.oracle.saw("a worker drained");
        self.say(at, 0, Body::Credit(v1::Credit { grants: 0 }));
    }
}
