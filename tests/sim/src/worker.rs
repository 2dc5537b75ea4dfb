//! A worker's process: the agent's core as it is shipped, and the world in place of its shell.

use super::engine::Engine;
use super::job::{JobSample, garble};
use super::mutant::Mutant;
use super::spool::{SimSpool, SpoolUse};
use super::world::{Happening, Up, World};
use compass_agent::{AgentConfig, AgentCore, ConnectError, ConnectionEvent, ExitReason, Input, Output};
use compass_proto::{Envelope as _, MAX_FRAME_BYTES, intervals_from_wire, unspill, v1};
use compass_scheduler::invariants::{C4, R1, S1};
use compass_types::ids::GrantId;
use compass_types::intervals::IntervalSet;
use prost::Message as _;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use v1::worker_frame::Body;

/// Time for which a worker dials a master that does not answer, and time for which it waits for the answer to its hello.
const CONNECT_MS: u64 = 3_000;
const ANSWER_MS: u64 = 10_000;
/// The pool that continues while it is cut off.
pub(super) const FAR: &str = "far";
/// Frames of one step at most: more are a loop without end.
const MOST_FRAMES: u32 = 10_000;
/// Room on a disk that is nearly full, in bytes.
const LITTLE_ROOM: usize = 700_000;
/// Bytes that travel in a millisecond.
const BYTES_A_MS: u64 = 4_000;

/// A grant as a worker was told of it: unit, samples, proof.
pub(super) type Told = (u32, IntervalSet, Vec<u8>);

/// Process of a worker: the shipped agent's core, and its engines.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) name: String,
    number: usize,
    slots: u32,
    pub(super) life: u64,
    pub(super) alive: bool,
    pub(super) paused_until: u64,
    /// Until when its connection has no room.
    pub(super) choked_until: u64,
    pub(super) times: u64,
    pub(super) slow_until: u64,
    pub(super) device_lost: bool,
    /// Time at which its process began, where its clock shows 0.
    born: u64,
    core: Option<Box<AgentCore>>,
    /// The connection that it dialled last, by its own count; in the world, once there is one.
    pub(super) dialled: u64,
    pub(super) link: Option<usize>,
    opened: bool,
    pub(super) engines: Vec<Engine>,
    /// Time at which it wakes on its own, and the number of that wake.
    wakes_at: u64,
    wake: u64,
    /// The job whose leader welcomed its process last, and whether that told it to leave.
    pub(super) job: Option<usize>,
    pub(super) leaving: bool,
    /// Claims that its hellos make beside what it holds.
    pub(super) claims: Vec<v1::HeldGrant>,
    /// Number of its next results that do not fit the plan, and the way in which they do not.
    pub(super) garbles: (u32, u64),
    /// Samples whose results went out in a frame that is not acknowledged, as far as they fit the plan.
    under_way: BTreeMap<u64, Vec<JobSample>>,
    /// By frame: grants that it handed back since it cannot load their model, with their jobs and units.
    unable: BTreeMap<u64, (usize, GrantId, u32)>,
    /// Time at which a leader heard it last, and end of the latest silence that was so long that its grants may go to others.
    pub(super) heard_at: u64,
    pub(super) silent_until: u64,
    /// The highest number that any of its connections carried.
    highest_sent: u64,
    /// The latest content that it brought, for a fault of the protocol that puts it into the frame.
    brought: Arc<Vec<u8>>,
    /// Grants that its process was told of, by job.
    pub(super) granted: BTreeMap<(usize, GrantId), Told>,
    /// Events of its spool.
    spool: SpoolUse,
}

impl Worker {
    pub(super) fn new(number: usize, slots: u32) -> Self {
        Self {
            name: format!("w{number}"),
            number,
            slots,
            life: 0,
            alive: false,
            paused_until: 0,
            choked_until: 0,
            times: 1,
            slow_until: 0,
            device_lost: false,
            born: 0,
            core: None,
            dialled: 0,
            link: None,
            opened: false,
            engines: Vec::new(),
            wakes_at: 0,
            wake: 0,
            job: None,
            leaving: false,
            claims: Vec::new(),
            garbles: (0, 0),
            under_way: BTreeMap::new(),
            unable: BTreeMap::new(),
            heard_at: 0,
            silent_until: 0,
            highest_sent: 0,
            brought: Arc::default(),
            granted: BTreeMap::new(),
            spool: SpoolUse::default(),
        }
    }

    /// Returns whether an engine of it computes.
    pub(super) fn is_busy(&self) -> bool {
        self.engines.iter().any(Engine::is_busy)
    }

    /// Returns whether it is there, connected, and computes nothing.
    pub(super) fn is_idle(&self) -> bool {
        self.alive && self.opened && self.link.is_some() && !self.leaving && !self.is_busy()
    }

    /// Returns true if a leader has welcomed it on its open connection.
    pub(super) fn is_connected(&self) -> bool {
        self.alive && self.opened && self.link.is_some() && self.job.is_some()
    }

    fn has_room(&self, now: u64) -> bool {
        self.opened && self.link.is_some() && self.choked_until <= now
    }

    /// Returns the models it cannot load that a frame to it acknowledges.
    pub(super) fn is_acknowledged_unable(&mut self, frame: &v1::MasterFrame) -> Vec<(usize, GrantId, u32)> {
        let ack = match &frame.body {
            Some(v1::master_frame::Body::Welcome(welcome)) => welcome.last_ack.max(frame.ack),
            _ => frame.ack,
        };
        let later = self.unable.split_off(&(ack + 1));
        std::mem::replace(&mut self.unable, later).into_values().collect()
    }

    pub(super) fn session(&self) -> String {
        format!("{}.{}", self.name, self.life)
    }
}

/// A connection event in the words of a history.
fn in_short(news: &ConnectionEvent) -> String {
    match news {
        ConnectionEvent::Frame(frame) => format!("{} (ack {}) {:?}", frame.seq, frame.ack, frame.body),
        news => format!("{news:?}"),
    }
}

impl World {
    pub(super) fn worker_starts(&mut self, at: usize) {
        let worker = &self.workers[at];
        let (life, number, slots) = (worker.life + 1, worker.number, worker.slots);
        let masters = (0..self.masters.len()).map(|master| format!("m{master}:1")).collect();
        let seed = self.rng.below(u64::MAX);
        let worker = &mut self.workers[at];
        *worker = Worker::new(number, slots);
        (worker.life, worker.alive, worker.born) = (life, true, self.now);
        worker.engines = (0..slots).map(|_| Engine::default()).collect();
        let is_far = self.scenario.far.contains(&at);
        // Some hosts' disks are nearly full.
        let is_full = (self.scenario.seed + at as u64).is_multiple_of(4) && !self.scenario.roomy;
        let room = if is_full { LITTLE_ROOM } else { usize::MAX };
        let spool = SimSpool::new(room, worker.spool.clone());
        let boot = AgentConfig {
            name: worker.name.clone(),
            session: worker.session(),
            pool: if is_far { FAR.into() } else { self.scenario.pool(at).into() },
            host: format!("h{number}"),
            masters,
            master_lost_timeout: Duration::from_secs(3_600),
            slots,
            device: "cpu".into(),
            device_kind: "cpu",
            has_engine: false,
            sandbox: None,
            runs_programs: false,
            seed,
        };
        let mut core = Box::new(AgentCore::new(boot, Box::new(spool)));
        let mut outputs = Vec::new();
        core.start(&mut outputs);
        self.carry_out(at, &mut outputs);
        self.workers[at].core = Some(core);
        self.agent(at, Input::Tick);
    }

    pub(super) fn worker_dies(&mut self, at: usize, back_after: u64) {
        if !self.workers[at].alive {
            return;
        }
        self.worker_ends(at);
        self.after(back_after, Happening::WorkerStarts { worker: at });
    }

    /// The process is gone, and its connection with it.
    fn worker_ends(&mut self, at: usize) {
        let worker = &mut self.workers[at];
        (worker.alive, worker.core) = (false, None);
        self.begun.retain(|_, begun| begun.worker != at);
        let worker = &mut self.workers[at];
        if let Some(link) = worker.link.take() {
            self.sever(link, 2_500);
        }
    }

    /// Returns whether this process of the worker lives.
    pub(super) fn lives(&self, at: usize, life: u64) -> bool {
        self.workers[at].alive && self.workers[at].life == life
    }

    /// One step of the agent, and all that comes of it at once.
    pub(super) fn agent(&mut self, at: usize, input: Input) {
        let Some(mut core) = self.workers[at].core.take() else { return };
        let now = self.now - self.workers[at].born;
        let mut outputs = Vec::new();
        core.step(now, input, &mut outputs);
        self.carry_out(at, &mut outputs);
        let mut frames = 0;
        while core.wants_to_send() && self.workers[at].has_room(self.now) {
            let link = self.workers[at].dialled;
            core.step(now, Input::Link { link, news: ConnectionEvent::Writable }, &mut outputs);
            self.carry_out(at, &mut outputs);
            frames += 1;
            if frames > MOST_FRAMES {
                self.oracle.violation(S1, format!("w{at} sends without end"));
                break;
            }
        }
        if self.workers[at].spool.take_used() {
            self.oracle.saw("results were put aside on disk");
        }
        if self.workers[at].spool.take_full() {
            self.oracle.saw("a disk had no room for results");
        }
        let (ending, wakes_at) = (core.take_ending(), self.workers[at].born + core.wake_at_ms());
        self.workers[at].core = Some(core);
        match ending {
            Some(ending) => self.agent_ended(at, &ending),
            None => self.sleep(at, wakes_at),
        }
    }

    /// The agent wants to be woken then, if nothing happens before.
    fn sleep(&mut self, at: usize, wakes_at: u64) {
        let now = self.now;
        let worker = &mut self.workers[at];
        if worker.wakes_at > now && worker.wakes_at <= wakes_at {
            return;
        }
        worker.wake += 1;
        worker.wakes_at = wakes_at;
        let (life, wake) = (worker.life, worker.wake);
        self.at(wakes_at, Happening::WorkerTick { worker: at, life, wake });
    }

    pub(super) fn worker_tick(&mut self, at: usize, wake: u64) {
        if self.workers[at].wake == wake {
            self.workers[at].wakes_at = 0;
            self.agent(at, Input::Tick);
        }
    }

    fn agent_ended(&mut self, at: usize, ending: &ExitReason) {
        self.oracle.note(self.now, || format!("w{at} ends: {ending}"));
        match ending {
            ExitReason::Refused { reason } if reason.contains("barred") => {
                self.oracle.saw("a worker was barred");
                self.worker_ends(at);
            }
            ExitReason::Signal(_) | ExitReason::TimeIsUp => {
                self.oracle.saw("a worker drained");
                self.worker_dies(at, 1_500);
            }
            // What it has not brought home is lost with it.
            ExitReason::Shutdown { .. } => {
                self.leaves_behind(at, None, "a worker that is told to end forgets a result");
                self.worker_dies(at, 2_000);
            }
            // Another process of its name is connected, as far as the master knows.
            _ => self.worker_dies(at, 2_000),
        }
    }

    /// Does what the agent wants done, as its shell would.
    fn carry_out(&mut self, at: usize, outputs: &mut Vec<Output>) {
        let life = self.workers[at].life;
        for output in outputs.drain(..) {
            match output {
                Output::Dial { link, master, pause, hello } => {
                    self.hang_up(at);
                    let worker = &mut self.workers[at];
                    (worker.dialled, worker.opened) = (link, false);
                    let dials = Happening::Dials { worker: at, life, number: link, master, hello };
                    self.after(pause.as_millis() as u64, dials);
                }
                Output::Send { frame } => self.sends(at, *frame),
                Output::Upload { link: number, seq, digest, bytes, pause } => {
                    let Some(link) = self.workers[at].link else { continue };
                    self.note_results(at, seq, v1::WorkerFrame::decode(bytes.as_slice()).unwrap_or_default().body);
                    self.workers[at].brought = bytes.clone();
                    self.oracle.saw("a body was too large for its frame");
                    let pause = pause.as_millis() as u64;
                    let arrives = self.links.bulk(self.now, at, &mut self.rng) + bytes.len() as u64 / BYTES_A_MS;
                    debug_assert_eq!(self.links.all[link].number, number);
                    self.at(arrives, Happening::Uploads { link, seq, digest, bytes, pause });
                }
                Output::Fetch { digest, pause } => self.fetches(at, digest, pause),
                Output::Start { slot, batch } => self.engine_starts(at, slot, batch),
                Output::Extend { slot, batch } => self.engine_takes_more(at, slot, &batch),
                Output::RunPrograms { .. } => {
                    self.oracle.violation(R1, format!("w{at} is to run programs, of which the job has none"));
                }
                Output::ExitRequested => {}
            }
        }
    }

    /// Leaves the connection in use. What was sent before still arrives, unless it is broken.
    fn hang_up(&mut self, at: usize) {
        let Some(link) = self.workers[at].link.take() else { return };
        let arrives = self.links.up(self.now, link, &mut self.rng);
        for at in arrives.into_iter().take(1) {
            self.at(at, Happening::Up { link, what: Up::Closed });
        }
    }

    fn fetches(&mut self, at: usize, digest: compass_types::ids::Digest, pause: Duration) {
        let (now, life) = (self.now, self.workers[at].life);
        let master = self.workers[at].link.map(|link| &self.links.all[link]).filter(|link| !link.broken);
        let answers = master.is_some_and(|link| self.is_up(link.master, link.master_life));
        let content = match self.jobs.iter().find_map(|job| job.content(&digest)) {
            _ if !answers => Err(compass_agent::BulkError::Retryable("no answer".into())),
            Some(content) => Ok(content.to_vec()),
            None => Err(compass_agent::BulkError::Permanent("no such content".into())),
        };
        let late = if content.is_ok() { 0 } else { pause.as_millis() as u64 };
        let arrives = self.links.bulk(now, at, &mut self.rng) + late;
        self.at(arrives, Happening::Fetched { worker: at, life, digest, content });
    }

    /// The worker dials a master.
    pub(super) fn dials(&mut self, at: usize, number: u64, master: usize, mut hello: Box<v1::Hello>) {
        if self.workers[at].dialled != number {
            return;
        }
        let (now, life) = (self.now, self.workers[at].life);
        let parted = self.links.weather[at].parted_until;
        let known = &self.masters[master];
        if parted > now || !known.up || !known.is_serving() || known.paused_until > now {
            let pause = if parted > now || known.paused_until > now { CONNECT_MS } else { self.rng.between(1, 30) };
            self.after(pause, Happening::NotOpened { worker: at, life, number });
            return;
        }
        let master_life = known.life;
        let link = self.links.connect((at, life, number), (master, master_life));
        self.links.all[link].hello_sent = now - self.workers[at].born;
        self.workers[at].link = Some(link);
        self.after(ANSWER_MS, Happening::NotOpened { worker: at, life, number });
        hello.held.extend(self.workers[at].claims.iter().cloned());
        if self.mutant == Some(Mutant::HelloOmitsUnacknowledged) {
            self.omit_unacknowledged(at, &mut hello);
        }
        for arrives in self.links.up(now, link, &mut self.rng).into_iter().take(1) {
            self.at(arrives, Happening::Up { link, what: Up::Hello(hello.clone()) });
        }
    }

    fn omit_unacknowledged(&self, at: usize, hello: &mut v1::Hello) {
        let unacknowledged: Vec<_> = self.workers[at].under_way.values().flatten().collect();
        for held in &mut hello.held {
            let all = intervals_from_wire(&held.samples);
            let granted =
                if held.granted.is_empty() { held.samples.clone() } else { std::mem::take(&mut held.granted) };
            let kept =
                all.iter().filter(|index| !unacknowledged.iter().any(|key| (key.1, key.2) == (held.unit, *index)));
            held.samples = compass_proto::intervals_to_wire(&IntervalSet::from_indices(kept));
            held.granted = granted;
        }
    }

    /// The worker hears of its connection.
    pub(super) fn hears(&mut self, link: usize, mut news: ConnectionEvent) {
        let known = self.links.all[link].clone();
        if self.mutant == Some(Mutant::DeadlineFromReceipt) {
            let now = self.now - self.workers[known.worker].born.min(self.now);
            match &mut news {
                ConnectionEvent::Opened { hello_sent_ms } => *hello_sent_ms = now,
                ConnectionEvent::Frame(frame) => {
                    if let Some(v1::master_frame::Body::HeartbeatAck(ack)) = &mut frame.body {
                        ack.sent_ms = now;
                    }
                }
                _ => {}
            }
        }
        if !self.lives(known.worker, known.worker_life) {
            return;
        }
        let at = known.worker;
        let is_current = self.workers[at].dialled == known.number;
        let number = match self.mutant {
            // Whatever connection it comes from.
            Some(Mutant::OldLinkHeard) if !is_current && matches!(news, ConnectionEvent::Frame(_)) => {
                self.workers[at].dialled
            }
            _ => known.number,
        };
        match &news {
            ConnectionEvent::Opened { .. } if is_current => self.workers[at].opened = true,
            ConnectionEvent::Frame(frame) if is_current => self.is_told(at, known.job, frame),
            ConnectionEvent::Closed { .. } if is_current => {
                self.workers[at].opened = false;
                self.links.all[link].broken = true;
                self.workers[at].link = None;
            }
            _ => {}
        }
        self.oracle.note(self.now, || format!("w{at} hears on {}: {}", known.number, in_short(&news)));
        self.agent(at, Input::Link { link: number, news });
    }

    /// A connection did not come about in time.
    pub(super) fn not_opened(&mut self, at: usize, number: u64) {
        if self.workers[at].dialled != number || self.workers[at].opened {
            return;
        }
        if let Some(link) = self.workers[at].link.take() {
            self.sever(link, 20);
        }
        let news = ConnectionEvent::Closed { why: ConnectError::Unavailable("no answer".into()) };
        self.agent(at, Input::Link { link: number, news });
    }

    /// Updates the world's knowledge of the worker by a frame that it is told.
    fn is_told(&mut self, at: usize, job: Option<usize>, frame: &v1::MasterFrame) {
        use v1::master_frame::Body as Told;
        let mut ack = frame.ack;
        match &frame.body {
            Some(Told::Welcome(welcome)) => {
                ack = ack.max(welcome.last_ack);
                self.is_welcomed(at, job);
            }
            Some(Told::Release(_)) => {
                let worker = &mut self.workers[at];
                worker.leaving = true;
                worker.claims.clear();
            }
            _ => {}
        }
        let gone = self.workers[at].under_way.range(..=ack).flat_map(|(_, keys)| keys).copied().collect::<Vec<_>>();
        self.workers[at].under_way.retain(|seq, _| *seq > ack);
        for key in gone {
            self.oracle.is_believed(key, "a worker forgets a result");
            self.begun.remove(&key);
        }
    }

    /// A leader takes a worker in: with the plan of another job goes all that the worker had of the last one.
    fn is_welcomed(&mut self, at: usize, job: Option<usize>) {
        let worker = &mut self.workers[at];
        worker.leaving = false;
        let before = std::mem::replace(&mut worker.job, job);
        if before == job {
            return;
        }
        self.leaves_behind(at, job, "a worker goes to another job with a result");
        self.begun.retain(|key, begun| begun.worker != at || Some(key.0) == job);
        let worker = &mut self.workers[at];
        worker.claims.clear();
        worker.under_way.clear();
        worker.unable.clear();
        worker.granted.retain(|(of, _), _| Some(*of) == job);
    }

    /// Every result that a worker drops has been recorded, unless its job is over.
    fn leaves_behind(&mut self, at: usize, stays_with: Option<usize>, why: &str) {
        let dropped: Vec<_> = self.workers[at].under_way.values().flatten().copied().collect();
        for key in dropped {
            if Some(key.0) != stays_with && self.over[key.0].is_none() && !self.cancelled[key.0] {
                self.oracle.is_believed(key, why);
            }
        }
    }

    /// A frame leaves the worker.
    fn sends(&mut self, at: usize, mut frame: v1::WorkerFrame) {
        let Some(link) = self.workers[at].link else { return };
        if self.mutant == Some(Mutant::BodyNotSpilled) && frame.spilled().is_some() {
            let brought = self.workers[at].brought.clone();
            frame = unspill(frame.clone(), &brought).unwrap_or(frame);
        }
        if frame.encoded_len() > MAX_FRAME_BYTES {
            self.oracle.violation(S1, format!("w{at} sends a frame of {} bytes", frame.encoded_len()));
        }
        let job = self.links.all[link].job.unwrap_or_default();
        let worker = &mut self.workers[at];
        if self.mutant == Some(Mutant::OutboxNotRewound) && frame.seq > 0 && frame.seq <= worker.highest_sent {
            return;
        }
        worker.highest_sent = worker.highest_sent.max(frame.seq);
        match &mut frame.body {
            Some(Body::Results(results)) => {
                let (left, way) = &mut worker.garbles;
                let count = results.samples.len().min(*left as usize);
                *left -= count as u32;
                results.samples.iter_mut().take(count).for_each(|result| garble(result, *way));
                let fitting = v1::Results { samples: results.samples.split_off(count), ..results.clone() };
                let kept = fitting.samples.clone();
                results.samples.extend(kept);
                self.note_results(at, frame.seq, Some(Body::Results(fitting)));
            }
            Some(Body::Report(report)) => {
                let report = report.clone();
                self.judge_report(at, job, &report);
            }
            // One that is going is taken for gone when its connection breaks.
            Some(Body::Draining(_)) => self.begun.retain(|_, begun| begun.worker != at),
            Some(Body::RevokeAck(ack)) if !ack.returned.is_empty() && worker.leaving => {
                self.oracle.saw("a worker that was to leave handed back what it had not begun");
            }
            Some(Body::Failed(failed)) => {
                let no_room = failed.class() == v1::FailureClass::NoRoom;
                if no_room && self.mutant == Some(Mutant::NoRoomTakenForTransient) {
                    failed.class = v1::FailureClass::Transient.into();
                }
                let grant = GrantId::from(failed.grant.unwrap_or_default());
                if let Some((unit, samples, _)) = worker.granted.get(&(job, grant)) {
                    let is_its = |key: &JobSample| (key.0, key.1) == (job, *unit) && samples.contains(key.2);
                    self.begun.retain(|key, begun| begun.worker != at || !is_its(key));
                    if failed.class() == v1::FailureClass::Unable {
                        worker.unable.insert(frame.seq, (job, grant, *unit));
                    }
                }
                self.oracle.saw("a grant was handed back");
            }
            _ => {}
        }
        self.oracle.note(self.now, || format!("w{at} says {} (ack {}) {:?}", frame.seq, frame.ack, frame.body));
        for arrives in self.links.up(self.now, link, &mut self.rng) {
            self.at(arrives, Happening::Up { link, what: Up::Frame(Box::new(frame.clone())) });
        }
    }

    /// Results leave in the frame `seq`: when it is acknowledged, they must be committed.
    fn note_results(&mut self, at: usize, seq: u64, body: Option<Body>) {
        let job = self.workers[at].job.unwrap_or_default();
        if let Some(Body::Results(results)) = body {
            let keys = results.samples.iter().map(|result| (job, results.unit, result.index));
            // A result that does not fit does not count: the worker is done with its sample, and others may begin it.
            let not_finite = self.scenario.not_finite.map(|(unit, index)| (0, unit, index));
            let (none, keys): (Vec<_>, Vec<_>) = keys.partition(|key| Some(*key) == not_finite);
            self.begun.retain(|key, _| !none.contains(key));
            self.workers[at].under_way.insert(seq, keys);
        }
    }

    /// A report tells what its samples' results are, and what they cost: each counted once, whatever became of its grant
    /// meanwhile.
    fn judge_report(&mut self, at: usize, job: usize, report: &v1::ShardReport) {
        let samples = intervals_from_wire(&report.samples);
        if !self.scenario.is_plain() {
            return;
        }
        let Some((digest, counted)) = self.jobs[job].fold(report.unit, &samples) else { return };
        let told = u64::from(report.scored) + u64::from(report.failed);
        if (digest.0.as_slice(), counted) != (report.state.as_slice(), told) {
            let detail = format!("w{at} reports {told} of {samples:?} of unit {}, in another state", report.unit);
            self.oracle.violation(C4, detail);
        }
        let cost = report.tokens.unwrap_or_default().submitted;
        if cost != told {
            let detail = format!("w{at} reports {told} of {samples:?} of unit {}, but the cost of {cost}", report.unit);
            self.oracle.violation(C4, detail);
        }
    }
}
