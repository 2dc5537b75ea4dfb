//! Plays a job on the real scheduler with simulated workers: batches as the agent's, one ahead, a round trip for each word.

use crate::job::Job;
use compass_plan::partition::{PartitionerKind, UnitSize, partition};
use compass_scheduler::{
    Capabilities, ConnectionId, Core, DeviceType, Effect, Event, Handed, Limits, Message, Recorded, Requires,
    SandboxState, TaskView,
};
use compass_types::ids::{Attempt, Epoch, GrantId, ModelId, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Samples of a batch, as the agent's.
const PACK: usize = 16;
/// One way between master and worker, with what makes a grant durable.
const LATENCY_MS: u64 = 25;
/// Time that a worker takes to load a model.
const LOAD_MS: u64 = 5_000;

const TICK_MS: u64 = 1_000;

struct OpenGrant {
    grant: GrantId,
    unit: UnitId,
    waiting: IntervalSet,
    running: usize,
}

/// A batch as it was run.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) worker: usize,
    pub(crate) began_ms: u64,
    pub(crate) ended_ms: u64,
    pub(crate) samples: usize,
    /// Time that its longest sample took there.
    pub(crate) longest_ms: f64,
}

/// Course of a job.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    pub(crate) makespan_ms: f64,
    /// Work that all workers together could have done meanwhile and did not, as a time of all of them: while they loaded models,
    pub(crate) loading_ms: f64,
    /// while they had nothing to do and got something later,
    pub(crate) waiting_ms: f64,
    /// and after their last batch.
    pub(crate) tail_ms: f64,
    /// The batch that ended last.
    pub(crate) last: Batch,
}

#[derive(Default)]
struct Worker {
    held: Vec<OpenGrant>,
    model: Option<usize>,
    busy: bool,
    loading_ms: u64,
    idle_ms: u64,
    last: Option<Batch>,
}

enum Next {
    /// The worker hears something.
    Told(usize, Message),
    /// The scheduler hears something.
    Heard(Event),
    /// Time passes, at the master.
    Tick,
    /// A batch is done.
    Packed(usize, GrantId, UnitId, Vec<u32>),
}

struct Play<'a> {
    job: &'a Job,
    models: BTreeMap<UnitId, usize>,
    core: Core,
    now: u64,
    order: u64,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, Next>,
    workers: Vec<Worker>,
}

fn name(at: usize) -> WorkerId {
    WorkerId(format!("w{at}"))
}

/// Plays the job under a partitioner; `None` if it did not end.
pub(crate) fn play(job: &Job, kind: &PartitionerKind) -> Option<Played> {
    let specs = partition(kind, &job.units, job.speeds.len() as u32).ok()?;
    let sizes: BTreeMap<UnitId, &UnitSize> = job.units.iter().map(|unit| (unit.id, unit)).collect();
    let mut views = Vec::new();
    for (unit, samples) in specs.into_iter().flat_map(|spec| spec.pieces) {
        let size = sizes.get(&unit)?;
        let (model, sample_cost) = (size.model as u32, size.sample_cost());
        let (attempt, requires) = (Attempt(0), Requires::Echo);
        views.push(TaskView { unit, model: ModelId(model), requires, samples, attempt, sample_cost, shared_cost: 0 });
    }
    let limits = Limits { split: *kind == PartitionerKind::Balanced, ..Limits::default() };
    let mut play = Play {
        job,
        models: job.units.iter().map(|unit| (unit.id, unit.model)).collect(),
        core: Core::new(Epoch(1), limits, views, Recorded::default()),
        now: 0,
        order: 0,
        queue: BinaryHeap::new(),
        events: BTreeMap::new(),
        workers: job.speeds.iter().map(|_| Worker::default()).collect(),
    };
    play.run()
}

impl Play<'_> {
    fn run(&mut self) -> Option<Played> {
        for at in 0..self.workers.len() {
            let capabilities = Capabilities {
                session: name(at).0,
                slots: 1,
                has_engine: true,
                sandbox: SandboxState::Unknown,
                ..Capabilities::default()
            };
            let connection = ConnectionId(at as u64);
            self.apply(Event::Attached { worker: name(at), connection, capabilities, held: Vec::new() });
            self.after(1, Next::Heard(Event::Credit { worker: name(at), grants: 2 }));
        }
        self.after(TICK_MS, Next::Tick);
        while !self.core.is_finished() {
            let Reverse((at, order)) = self.queue.pop()?;
            self.now = at;
            match self.events.remove(&order)? {
                Next::Heard(event) => self.apply(event),
                Next::Tick => {
                    for at in 0..self.workers.len() {
                        self.apply(Event::Heartbeat { worker: name(at) });
                    }
                    self.apply(Event::Tick);
                    self.after(TICK_MS, Next::Tick);
                }
                Next::Told(worker, message) => self.told(worker, message),
                Next::Packed(worker, grant, unit, samples) => self.packed(worker, grant, unit, samples),
            }
        }
        self.played()
    }

    fn played(&self) -> Option<Played> {
        let end = self.now - LATENCY_MS;
        let all: f64 = self.job.speeds.iter().sum();
        let of_all = |of: &dyn Fn(&Worker) -> u64| {
            self.workers.iter().zip(&self.job.speeds).map(|(worker, speed)| of(worker) as f64 * speed).sum::<f64>()
                / all
        };
        let ended = |worker: &Worker| worker.last.as_ref().map_or(0, |batch| batch.ended_ms);
        Some(Played {
            makespan_ms: end as f64,
            loading_ms: of_all(&|worker| worker.loading_ms),
            waiting_ms: of_all(&|worker| worker.idle_ms),
            tail_ms: of_all(&|worker| end - ended(worker)),
            last: self.workers.iter().filter_map(|worker| worker.last.clone()).max_by_key(|batch| batch.ended_ms)?,
        })
    }

    fn after(&mut self, pause: u64, next: Next) {
        self.order += 1;
        self.queue.push(Reverse((self.now + pause, self.order)));
        self.events.insert(self.order, next);
    }

    fn apply(&mut self, event: Event) {
        let mut effects = Vec::new();
        self.core.apply(self.now, event, &mut effects);
        for effect in effects {
            if let Effect::Send { worker, message, .. } = effect
                && let Some(at) = worker.0.strip_prefix('w').and_then(|at| at.parse().ok())
            {
                self.after(LATENCY_MS, Next::Told(at, message));
            }
        }
    }

    fn told(&mut self, at: usize, message: Message) {
        match message {
            Message::Grant { grant, unit, samples, .. } => {
                self.workers[at].held.push(OpenGrant { grant, unit, waiting: samples, running: 0 });
            }
            Message::Revoke { grant, samples: Some(asked), .. } => {
                let mut samples = IntervalSet::new();
                if let Some(held) = self.workers[at].held.iter_mut().find(|held| held.grant == grant) {
                    let kept = held.waiting.minus(&asked);
                    samples = held.waiting.minus(&kept);
                    held.waiting = kept;
                }
                self.workers[at].held.retain(|held| !held.waiting.is_empty() || held.running > 0);
                let held = self.workers[at].held.iter().any(|held| held.grant == grant);
                self.after(LATENCY_MS, Next::Heard(Event::Returned { worker: name(at), grant, samples, held }));
            }
            _ => {}
        }
        self.begin(at);
    }

    fn begin(&mut self, at: usize) {
        let worker = &mut self.workers[at];
        if worker.busy {
            return;
        }
        let Some(held) = worker.held.iter_mut().find(|held| !held.waiting.is_empty()) else { return };
        let samples: Vec<u32> = held.waiting.iter().take(PACK).collect();
        for &sample in &samples {
            held.waiting.remove(sample);
        }
        held.running = samples.len();
        let (grant, unit) = (held.grant, held.unit);
        let model = self.models.get(&unit).copied();
        let load = if worker.model == model { 0 } else { LOAD_MS };
        (worker.model, worker.busy) = (model, true);
        let each = samples.iter().map(|&sample| self.job.durations[unit.0 as usize][sample as usize]);
        let (work, longest) = each.fold((0.0, 0.0_f64), |(work, longest), ms| (work + ms, longest.max(ms)));
        let takes = (work / self.job.speeds[at]).ceil() as u64 + load;
        let (now, ended_ms) = (self.now, self.now + takes);
        worker.loading_ms += load;
        worker.idle_ms += now - worker.last.as_ref().map_or(0, |batch| batch.ended_ms);
        let longest_ms = longest / self.job.speeds[at];
        worker.last = Some(Batch { worker: at, began_ms: now, ended_ms, samples: samples.len(), longest_ms });
        self.after(takes, Next::Packed(at, grant, unit, samples));
    }

    fn packed(&mut self, at: usize, grant: GrantId, unit: UnitId, samples: Vec<u32>) {
        let worker = &mut self.workers[at];
        worker.busy = false;
        if let Some(held) = worker.held.iter_mut().find(|held| held.grant == grant) {
            held.running = 0;
        }
        worker.held.retain(|held| !held.waiting.is_empty() || held.running > 0);
        let handed =
            |index: u32| Handed { index, result: index.to_le_bytes().to_vec(), failed: false, device: DeviceType::Cpu };
        let samples = samples.into_iter().map(handed).collect();
        self.after(LATENCY_MS, Next::Heard(Event::Results { worker: name(at), grant, unit, samples }));
        self.begin(at);
    }
}
