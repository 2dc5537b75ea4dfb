//! The slots of a simulated worker: models that take their time to load, samples that take theirs, engines that break.

use super::job::{NOT_FINITE, garble};
use super::master::WORKER_LEASE_MS;
use super::mutant::Mutant;
use super::world::{Happening, World};
use compass_agent::{BatchEnd, BatchOrder, Input, SlotEvent, SlotReport};
use compass_plan::engine::{ModelFacts, TokenCounters, UnableKind};
use compass_proto::drawn_from_wire;
use compass_proto::v1::{self, sample_result::Outcome};
use compass_scheduler::invariants::{C2, R1};
use compass_types::intervals::IntervalSet;
use std::collections::{BTreeMap, VecDeque};

/// A slot.
#[derive(Debug, Default)]
pub(super) struct Engine {
    /// The model that it holds, of a job.
    resident: Option<(usize, u32)>,
    batch: Option<Running>,
}

#[derive(Debug)]
struct Running {
    id: u64,
    job: usize,
    unit: u32,
    model: u32,
    is_ready: bool,
    /// Orders of the batch, the first included.
    orders: u32,
    samples: VecDeque<u32>,
    /// Number of answers that are there of samples, as the agent says.
    drawn: BTreeMap<u32, u32>,
    /// Results given so far: what the token counters of its end tell.
    results: u64,
}

impl Engine {
    pub(super) fn is_busy(&self) -> bool {
        self.batch.is_some()
    }
}

impl World {
    /// Returns the reason why a worker may begin what another has by now, if it may: its pool continues while it is cut off, or its
    /// leader was replaced and could not learn it, since the store was not reached or its answers were lost. This leader renews
    /// leases: a store that is away for everybody must not stop all work.
    fn excuse(&mut self, at: usize, job: usize) -> Option<&'static str> {
        if self.scenario.far.contains(&at) {
            return Some("a worker that was cut off began what another had by then");
        }
        let master = self.links.all[self.workers[at].link?].master;
        let latest = self.latest_epoch(job);
        let master = &mut self.masters[master];
        let away_until = master.isolated_until.max(master.held_until).max(self.store_deaf_until);
        let was_replaced = master.led_job(job).is_some_and(|led| led.epoch < latest);
        (was_replaced && self.now <= away_until + WORKER_LEASE_MS)
            .then_some("a worker of a leader that the store did not hear began what another had by then")
    }

    pub(super) fn engine_starts(&mut self, at: usize, slot: usize, order: BatchOrder) {
        let found = self.jobs.iter().enumerate();
        let mut found = found.filter_map(|(job, known)| Some((job, known.unit_of_part(&order.part.digest)?)));
        let Some((job, unit)) = found.next() else { return };
        let (name, now) = (self.workers[at].name.clone(), self.now);
        for &index in &order.samples {
            let excuse = self.excuse(at, job);
            self.oracle.begins(now, (&name, excuse), (job, unit, index));
            self.begins_once(at, (job, unit, index), excuse.is_some());
        }
        let model = self.jobs[job].model(unit);
        if self.jobs[job].shape.endpoints.contains(&model) {
            self.oracle.saw("an endpoint was asked");
            let is_at_it = |other: &Engine| other.batch.as_ref().is_some_and(|it| (it.job, it.model) == (job, model));
            if self.workers[at].engines.iter().any(is_at_it) {
                self.oracle.violation(R1, format!("two slots of {name} ask the endpoint of model {model} at once"));
            }
        }
        let Some(engine) = self.workers[at].engines.get_mut(slot).filter(|engine| engine.batch.is_none()) else {
            self.oracle.violation(R1, format!("{name} begins a batch in slot {slot}, which has none free"));
            return;
        };
        let load = if engine.resident == Some((job, model)) { 1 } else { self.scenario.load_ms.max(1) };
        let (id, drawn, samples) = (order.id, drawn(&order), order.samples.into());
        engine.batch = Some(Running { id, job, unit, model, is_ready: false, orders: 1, samples, drawn, results: 0 });
        let pause = if load > 1 { self.rng.between(load / 2, load * 3 / 2) } else { 1 };
        let life = self.workers[at].life;
        self.after(pause, Happening::Engine { worker: at, life, slot, batch: id });
    }

    /// Samples are added to the batch under way.
    pub(super) fn engine_takes_more(&mut self, at: usize, slot: usize, order: &BatchOrder) {
        let engine = self.workers[at].engines.get(slot).and_then(|engine| engine.batch.as_ref());
        let Some((job, unit)) =
            engine.filter(|running| running.id == order.id).map(|running| (running.job, running.unit))
        else {
            let name = &self.workers[at].name;
            self.oracle.violation(R1, format!("{name} adds to a batch in slot {slot}, which has ended"));
            return;
        };
        self.oracle.saw("samples were added to a batch");
        let (name, now) = (self.workers[at].name.clone(), self.now);
        for &index in &order.samples {
            let excuse = self.excuse(at, job);
            self.oracle.begins(now, (&name, excuse), (job, unit, index));
            self.begins_once(at, (job, unit, index), excuse.is_some());
        }
        if let Some(running) = self.workers[at].engines.get_mut(slot).and_then(|engine| engine.batch.as_mut()) {
            running.samples.extend(&order.samples);
            running.drawn.extend(drawn(order));
            running.orders += 1;
        }
    }

    /// The next thing that happens to the batch under way.
    pub(super) fn engine_goes_on(&mut self, at: usize, slot: usize, batch: u64) {
        let device_lost = self.workers[at].device_lost;
        let Some(engine) = self.workers[at].engines.get_mut(slot) else { return };
        let Some(running) = engine.batch.as_mut().filter(|running| running.id == batch) else { return };
        let (job, unit, model) = (running.job, running.unit, running.model);
        if !running.is_ready {
            if device_lost {
                let message = format!("the device of w{at} is gone");
                return self.batch_ends(at, slot, BatchEnd::LoadFailed { kind: UnableKind::Device, message });
            }
            if self.jobs[job].shape.unable.contains(&(at, model)) {
                self.oracle.saw("a model could not be loaded");
                let message = format!("w{at} lacks the files of model {model}");
                return self.batch_ends(at, slot, BatchEnd::LoadFailed { kind: UnableKind::Missing, message });
            }
            running.is_ready = true;
            let is_kept = self.mutant != Some(Mutant::ModelUnloaded);
            let loaded = engine.resident.replace((job, model)) != Some((job, model)) || !is_kept;
            self.tally.iter_mut().for_each(|tally| tally.loads += u64::from(loaded));
            let loaded_seconds = loaded.then_some(self.scenario.load_ms as f64 / 1000.0);
            self.slot_says(at, slot, SlotEvent::Ready { facts: facts(self.scenario.at_once), loaded_seconds });
            return self.engine_goes_on_later(at, slot, batch);
        }
        if running.samples.is_empty() {
            // An engine tells of the end after the last result: meanwhile other slots go on.
            let tokens = TokenCounters { submitted: running.results, computed: running.results, ..Default::default() };
            let end = BatchEnd::Done { tokens, notes: Vec::new(), prefix_segments: Vec::new() };
            return self.batch_ends(at, slot, end);
        }
        for _ in 0..self.scenario.burst.max(1) {
            let running = self.workers[at].engines.get_mut(slot).and_then(|engine| engine.batch.as_mut());
            let Some(running) = running.filter(|running| running.id == batch) else { return };
            let Some(index) = running.samples.pop_front() else { break };
            if self.jobs[job].is_poison((unit, index)) {
                self.oracle.saw("a sample that no worker can run was tried");
                running.samples.push_front(index);
                return self.engine_dies(at, slot);
            }
            if self.scenario.has_no_room(at, self.jobs[job].asked((unit, index))) {
                self.oracle.saw("a sample had no room in a worker's memory");
                let outcome = Some(Outcome::NoRoom("not enough memory".into()));
                self.slot_says(at, slot, SlotEvent::Result(v1::SampleResult { index, outcome, ..Default::default() }));
                continue;
            }
            running.results += 1;
            let drawn = running.drawn.get(&index).copied().unwrap_or(0);
            if drawn != self.jobs[job].drawn((unit, index)) {
                self.oracle
                    .violation(C2, format!("{drawn} answers to sample {index} of unit {unit} are said to be there"));
            }
            if drawn > 0 {
                self.oracle.saw("answers were drawn after those of an earlier run");
            }
            let by = if self.scenario.unsteady { at as u64 + 1 } else { 0 };
            let mut result = self.jobs[job].rest((unit, index), by, drawn);
            if self.scenario.not_finite == Some((unit, index)) && job == 0 {
                garble(&mut result, NOT_FINITE);
            }
            self.tally.iter_mut().for_each(|tally| tally.result(at, (job, unit, index)));
            self.slot_says(at, slot, SlotEvent::Result(result));
        }
        let running = self.workers[at].engines.get(slot).and_then(|engine| engine.batch.as_ref());
        match running.filter(|running| running.id == batch).map(|running| running.samples.is_empty()) {
            Some(true) => {
                let (pause, life) = (self.rng.between(0, 20), self.workers[at].life);
                self.after(pause, Happening::Engine { worker: at, life, slot, batch });
            }
            Some(false) => self.engine_goes_on_later(at, slot, batch),
            None => {}
        }
    }

    fn engine_goes_on_later(&mut self, at: usize, slot: usize, batch: u64) {
        let worker = &self.workers[at];
        let times = if self.now < worker.slow_until { worker.times } else { 1 };
        let (each, life) = (self.scenario.sample_ms * times, worker.life);
        let pause = self.rng.between(each / 2, each * 3 / 2).max(1);
        self.after(pause, Happening::Engine { worker: at, life, slot, batch });
    }

    /// The engine of the first slot that computes is gone.
    pub(super) fn engine_breaks(&mut self, at: usize) {
        let slot = self.workers[at].engines.iter().position(Engine::is_busy);
        if let Some(slot) = slot.filter(|_| self.workers[at].alive && self.workers[at].paused_until <= self.now) {
            self.oracle.saw("an engine broke");
            self.engine_dies(at, slot);
        }
    }

    /// The device of the first slot that computes is gone, and with it what other slots compute on it.
    pub(super) fn device_is_lost(&mut self, at: usize) {
        self.workers[at].device_lost = true;
        while let Some(slot) = self.workers[at].engines.iter().position(Engine::is_busy) {
            self.oracle.saw("a device was lost");
            let as_death = self.mutant == Some(Mutant::LostDeviceTakenForDeath);
            let message = format!("the device of w{at} is gone");
            let end = if as_death { BatchEnd::EngineDied { message } } else { BatchEnd::DeviceLost { message } };
            self.batch_ends(at, slot, end);
        }
    }

    fn engine_dies(&mut self, at: usize, slot: usize) {
        if let Some(engine) = self.workers[at].engines.get_mut(slot) {
            engine.resident = None;
            if let Some(running) = &engine.batch {
                let (job, unit) = (running.job, running.unit);
                self.begun.retain(|key, _| (key.0, key.1) != (job, unit) || !running.samples.contains(&key.2));
                self.oracle.engine_died(job, unit, running.samples.iter().copied());
            }
        }
        let message = format!("an engine of w{at} broke");
        let end = match self.mutant {
            Some(Mutant::DeathTakenForLostDevice) => BatchEnd::DeviceLost { message },
            _ => BatchEnd::EngineDied { message },
        };
        self.batch_ends(at, slot, end);
    }

    fn batch_ends(&mut self, at: usize, slot: usize, end: BatchEnd) {
        let running = self.workers[at].engines.get_mut(slot).and_then(|engine| engine.batch.take());
        if let Some(running) = running {
            let orders = running.orders;
            let of_batch = (running.job, running.unit);
            self.begun.retain(|key, _| (key.0, key.1) != of_batch || !running.samples.contains(&key.2));
            if self.mutant == Some(Mutant::EngineDeathUnheard) && matches!(end, BatchEnd::EngineDied { .. }) {
                return;
            }
            self.slot_says(at, slot, SlotEvent::Ended { batch: running.id, orders, end });
        }
    }

    fn slot_says(&mut self, at: usize, slot: usize, event: SlotEvent) {
        self.agent(at, Input::Slot(SlotReport { slot, event }));
    }
}

/// Returns the number of answers that are there of the samples of an order.
fn drawn(order: &BatchOrder) -> BTreeMap<u32, u32> {
    drawn_from_wire(&order.drawn, &IntervalSet::from_indices(order.samples.iter().copied()))
}

fn facts(sequences: u32) -> Vec<u8> {
    let facts = ModelFacts {
        max_seq_len: 2048,
        characters_per_token: 4.0,
        bos_token: None,
        eos_token: None,
        device: "echo".into(),
        sequences,
        notes: Vec::new(),
        remarks: Vec::new(),
        pin: None,
    };
    // Plain data always serialises.
    serde_json::to_vec(&facts).unwrap_or_default()
}
