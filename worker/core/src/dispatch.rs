//! Assigns batches to idle slots.

use super::grants::{GrantState, MIN_SHARE};
use super::order::{BatchOrder, ModelOrder, PartOrder};
use super::output::Output;
use super::parts::CachedPart;
use super::session::{AgentCore, UnitOrder, WelcomeTerms};
use super::shard::Shard;
use super::slots::{Busy, SlotState};
use compass_plan::engine::{BatchSpec, ENGINE_TIMEOUT};
use compass_plan::{ModelKind, Part, Plan, Unit};
use compass_proto::v1::FailureClass;
use compass_types::ids::{Digest, GrantId, ModelId, UnitId};
use compass_types::path_rules::map_path;
use std::sync::Arc;

/// Ratio of a grant's pending samples to their shared prefix from which another slot helps.
const HELP_RATIO: u64 = 50;
/// The same ratio once the running batch has taken [`SLOW_MS`]. The duration of generation is unknown: there the time alone
/// decides.
const HELP_RATIO_WHEN_SLOW: u64 = 10;
const HELP_AFTER_MS: u64 = 20_000;

/// Time that an idle slot waits for better work from the master before it loads a model that another slot has, in
/// milliseconds.
const JOIN_AFTER_MS: u64 = 500;
/// Another slot loads a model if its pending samples take this many times as long as loading.
const LOAD_RATIO: f64 = 1.25;

/// Samples without a result at which others are added to a batch, if its engine has no more sequences at once.
const TOP_UP_AT: usize = 32;

/// Time that a batch should take at most where the speed of a slot is known, in milliseconds: no other worker gets what it holds.
const BATCH_MS: f64 = 1_000.0;

/// Parts of a batch beyond which those whose samples are all done are dropped.
const PARTS_OF_A_BATCH: usize = 8;

/// Returns whether a unit's samples are programs.
fn runs_programs(plan: &Plan, unit: UnitId) -> bool {
    plan.unit(unit).is_some_and(|unit| unit.model.kind == ModelKind::Sandbox)
}

impl AgentCore {
    /// Returns whether another slot may help with a grant, which may have to compute the shared prefix again: if the prefix is
    /// short compared with the pending samples, or if all would wait for long.
    fn is_worth_help(&self, plan: &Plan, held: &GrantState, now_ms: u64) -> bool {
        let Some(unit) = plan.unit(held.unit) else { return false };
        let each = unit.dataset.characters / u64::from(unit.dataset.samples.max(1));
        let shared = unit.dataset.prefix_runs.iter().map(|beginning| beginning.characters).max().unwrap_or(0);
        let busy = self.slots.iter().filter_map(|slot| slot.busy.as_ref());
        let busy = busy.filter(|busy| busy.grant == held.key && !busy.stale);
        let is_long = busy.into_iter().any(|busy| now_ms.saturating_sub(busy.since_ms) >= HELP_AFTER_MS);
        let times = match unit.dataset.labels {
            None if is_long => 0,
            Some(_) if is_long => HELP_RATIO_WHEN_SLOW,
            _ => HELP_RATIO,
        };
        each.saturating_mul(u64::from(held.waiting().len())) >= shared.saturating_mul(times)
    }

    /// Gives every idle slot a batch, as far as lease, outbox and drain allow.
    pub(super) fn dispatch(&mut self, now_ms: u64) {
        let Some(terms) = &self.terms else { return };
        let (active, head) = (terms.active_slots, terms.plan);
        let Some(plan) = self.plan.clone() else {
            self.fetch(head);
            return;
        };
        if !self.may_begin(now_ms) {
            return;
        }
        for slot in 0..active {
            if self.slots[slot].busy.is_none() {
                self.feed(slot, active, &plan, now_ms);
            }
        }
        for slot in 0..active {
            self.top_up(slot, active, &plan);
        }
        self.fetch_ahead(&plan);
        let busy = self.slots[..active].iter().filter(|slot| slot.busy.is_some()).count();
        self.idle_time.observe(busy as u32, active as u32, now_ms);
    }

    /// Returns true if lease, outbox and drain allow samples to begin.
    pub(super) fn may_begin(&self, now_ms: u64) -> bool {
        // Rule W1, except in a pool that continues while disconnected: results computed twice count once.
        let is_leased = |terms: &WelcomeTerms| self.lease.may_start(now_ms) || terms.offline_continue;
        let cut_off = self.stream.as_ref().is_none_or(|stream| !stream.welcomed);
        self.drain.is_none() && self.terms.as_ref().is_some_and(is_leased) && !self.outbox.is_full(cut_off)
    }

    fn feed(&mut self, slot: usize, active: usize, plan: &Plan, now_ms: u64) {
        while let Some(grant) = self.choose_grant(slot, active, plan, now_ms) {
            match self.start_batch(slot, grant, plan, now_ms) {
                Ok(()) => return,
                Err(reason) => self.fail(grant, FailureClass::Transient, reason),
            }
        }
    }

    /// Chooses the slot's current grant; otherwise one without a slot: of the slot's last unit, of its loaded model, or
    /// the oldest; last, those whose unit another slot works on. If every grant has a slot, the slot helps with one.
    fn choose_grant(&self, slot: usize, active: usize, plan: &Plan, now_ms: u64) -> Option<GrantId> {
        let (resident, unit) = (self.slots[slot].resident, self.slots[slot].unit);
        let open = || {
            self.grants.iter().filter(|held| held.has_waiting() && !self.is_asked_by_another(slot, active, plan, held))
        };
        let own = open().find(|held| held.slot == Some(slot));
        let elsewhere = |held: &GrantState| {
            let others = self.slots[..active].iter().enumerate().filter(|(other, _)| *other != slot);
            others.into_iter().any(|(_, other)| other.unit == Some(held.unit))
        };
        let free = open().filter(|held| self.has_no_slot(active, plan, held));
        let free = free.filter(|held| self.may_load(slot, active, plan, held, now_ms));
        let best = free.min_by_key(|held| {
            let cold = Some(plan.model_of(held.unit)) != resident;
            (cold, Some(held.unit) != unit, elsewhere(held))
        });
        // Programs of one task run concurrently: they share nothing that a slot could keep.
        let programs = || open().find(|held| runs_programs(plan, held.unit));
        let help =
            || open().find(|held| self.is_worth_help(plan, held, now_ms) && Some(plan.model_of(held.unit)) == resident);
        own.or(best).or_else(programs).or_else(help).map(|held| held.key)
    }

    /// Returns true if no slot will begin a grant before another is free: none owns it, or its owner may not ask the endpoint of its
    /// model. A slot comes to own a grant before its part is there, and another may ask the endpoint first.
    fn has_no_slot(&self, active: usize, plan: &Plan, held: &GrantState) -> bool {
        let owner = held.slot.filter(|owner| *owner < active);
        owner.is_none_or(|owner| self.is_asked_by_another(owner, active, plan, held))
    }

    /// Returns whether another slot asks the endpoint of a grant's model: a worker has one share of its budget, and so has one slot.
    fn is_asked_by_another(&self, slot: usize, active: usize, plan: &Plan, held: &GrantState) -> bool {
        let is_endpoint = plan.unit(held.unit).is_some_and(|unit| unit.model.kind == ModelKind::Endpoint);
        is_endpoint && self.asking(active, plan.model_of(held.unit)).is_some_and(|asking| asking != slot)
    }

    /// The slot that asks the endpoint of a model, if one does. Several idle slots may have asked it before, one after the
    /// other: the first of them asks next, so that they do not wait for each other.
    fn asking(&self, active: usize, model: ModelId) -> Option<usize> {
        let slots = &self.slots[..active];
        let is_at_it = |state: &SlotState| state.busy.as_ref().is_some_and(|busy| busy.model == model && !busy.stale);
        let was_at_it = |state: &SlotState| state.busy.is_none() && state.resident == Some(model);
        slots.iter().position(is_at_it).or_else(|| slots.iter().position(was_at_it))
    }

    /// Returns whether the slot may load the model of a grant. A model that another slot has is left to that slot by one that has
    /// another model, or has none while there are more models than slots; unless the master wants more slots for it, or
    /// the pending samples take longer than loading it.
    fn may_load(&self, slot: usize, active: usize, plan: &Plan, held: &GrantState, now_ms: u64) -> bool {
        let model = plan.model_of(held.unit);
        let holds = |state: &SlotState| {
            state.busy.as_ref().map_or(state.resident == Some(model), |busy| busy.model == model && !busy.stale)
        };
        let at = self.slots[..active].iter().filter(|state| holds(state)).count() as u32;
        let has_room = self.slots[slot].resident.is_none() && plan.models.len() <= active;
        if at == 0 || has_room || self.slots[slot].resident == Some(model) || held.slots > at {
            return true;
        }
        let waited = now_ms.saturating_sub(self.slots[slot].idle_since_ms);
        let known = self.loads.get(&model).zip(self.sample_ms.get(&model).filter(|(_, samples)| *samples > 0.0));
        let Some((load, (ms, samples))) = known else { return false };
        let of_model = self.grants.iter().filter(|other| plan.model_of(other.unit) == model);
        let waiting: u32 = of_model.map(|other| other.waiting().len()).sum();
        waited >= JOIN_AFTER_MS && f64::from(waiting) * ms / samples > LOAD_RATIO * f64::from(at) * load
    }

    /// Sends the grant's next batch to the slot, or requests the part that it needs.
    fn start_batch(&mut self, slot: usize, grant: GrantId, plan: &Plan, now_ms: u64) -> Result<(), String> {
        let Some(held) = self.grants.get(grant) else { return Ok(()) };
        let unit = plan.unit(held.unit).ok_or_else(|| format!("the plan has no unit {}", held.unit))?;
        let active = self.terms.as_ref().map_or(1, |terms| terms.active_slots);
        // The remaining samples are shared among all slots.
        let is_last = self.grants.iter().all(|other| other.key == grant || !other.has_waiting());
        let slots = if is_last && self.is_worth_help(plan, held, now_ms) { active } else { 1 };
        let is_free = self.has_no_slot(active, plan, held);
        let mut batch = held.next_batch(unit.dataset, slots).ok_or_else(|| missing_sample(held, &unit))?;
        let runs_programs = runs_programs(plan, unit.id);
        if runs_programs {
            batch.samples.truncate(1);
        }
        let room = self.room_for_answers(plan, plan.model_of(unit.id));
        batch.samples.truncate(room.unwrap_or_else(|| self.enough(plan, unit.id)));
        if batch.samples.is_empty() {
            return Ok(());
        }
        let drawn = held.drawn(&batch.samples);
        if unit.model.needs_libtorch() && !self.boot.has_engine {
            return Err(format!("this worker was built without libtorch and cannot run {}", unit.model.abbr));
        }
        if runs_programs && !self.boot.runs_programs {
            return Err("this worker cannot run model-written programs".into());
        }
        let order = self.unit_order(&unit)?;
        let part = self.parts.get(&batch.part);
        if let Some(held) = self.grants.get_mut(grant) {
            if is_free {
                held.slot = Some(slot);
            }
            held.shard.get_or_insert_with(|| Shard::new(&unit.eval()));
        }
        let Some(part) = part else {
            self.fetch(batch.part);
            return Ok(());
        };
        self.last_batch += 1;
        let id = self.last_batch;
        if runs_programs {
            let index = batch.samples.first().copied().unwrap_or_default();
            self.outputs.push(Output::RunPrograms { slot, batch: id, part: part.part.clone(), index });
        } else {
            let batch = BatchOrder {
                id,
                extends: false,
                name: order.name,
                model: order.model,
                job: self.job(),
                spec: order.spec,
                part: PartOrder { digest: part.digest, bytes: part.bytes.clone() },
                samples: batch.samples.clone(),
                drawn,
                timeout: self.terms.as_ref().map_or(ENGINE_TIMEOUT, |terms| terms.engine_timeout),
            };
            self.outputs.push(Output::Start { slot, batch });
        }
        if let Some(held) = self.grants.get_mut(grant) {
            held.started(&batch.samples);
        }
        self.credit_control.started(grant, now_ms);
        let model = plan.model_of(unit.id);
        // The path in the plan, whatever the path on this host.
        let holds = serde_json::to_vec(unit.model).ok().filter(|_| !runs_programs).map(|model| Digest::of(&model));
        let Some(state) = self.slots.get_mut(slot) else { return Ok(()) };
        state.unit = Some(unit.id);
        let (samples, left) = (batch.samples.clone(), batch.samples.len());
        state.busy = Some(Busy {
            batch: id,
            holds,
            grant,
            model,
            samples,
            left,
            orders: 1,
            parts: vec![part],
            since_ms: now_ms,
            computed_since_ms: now_ms,
            stale: false,
        });
        Ok(())
    }

    /// Adds samples to the batch of a busy slot before its engine runs out of them, so that no slot of the engine is
    /// idle while the last answers of a batch grow.
    fn top_up(&mut self, slot: usize, active: usize, plan: &Plan) {
        while let Some((order, part)) = self.next_extension(slot, active, plan) {
            let Some(busy) = self.slots.get_mut(slot).and_then(|state| state.busy.as_mut()) else { return };
            busy.left += order.samples.len();
            busy.orders += 1;
            busy.samples.extend(&order.samples);
            let Some(held) = self.grants.get_mut(busy.grant) else { return };
            if busy.parts.len() >= PARTS_OF_A_BATCH {
                let is_needed = |part: &Part| part.samples.iter().any(|sample| held.is_running(sample.index));
                busy.parts.retain(|known| known.digest == part.digest || is_needed(&known.part));
            }
            if !busy.parts.iter().any(|known| known.digest == part.digest) {
                busy.parts.push(part);
            }
            held.started(&order.samples);
            self.outputs.push(Output::Extend { slot, batch: order });
        }
    }

    /// Returns the samples to add to the batch of a slot, with their part; requests the part if it is missing.
    fn next_extension(&mut self, slot: usize, active: usize, plan: &Plan) -> Option<(BatchOrder, CachedPart)> {
        let busy = self.slots.get(slot)?.busy.as_ref().filter(|busy| !busy.stale)?;
        let sequences = self.sequences.get(&busy.model).copied().unwrap_or(0) as usize;
        let room = self.room_for_answers(plan, busy.model);
        // What another slot owns is only helped with, and suspects run in batches of their own.
        let held = self.grants.get(busy.grant)?;
        let enough = self.enough(plan, held.unit);
        if room.map_or(busy.left > sequences.max(TOP_UP_AT).min(enough / 2), |room| room == 0) {
            return None;
        }
        if held.slot != Some(slot) || held.has_suspects() || runs_programs(plan, held.unit) {
            return None;
        }
        let (id, unit) = (busy.batch, plan.unit(held.unit)?);
        let is_last = self.grants.iter().all(|other| other.key == held.key || !other.has_waiting());
        let mut choice = held.next_batch(unit.dataset, if is_last { active } else { 1 })?;
        choice.samples.truncate(room.unwrap_or(enough.saturating_sub(busy.left)));
        let Some(part) = self.parts.get(&choice.part) else {
            self.fetch(choice.part);
            return None;
        };
        let drawn = held.drawn(&choice.samples);
        let order = self.unit_order(&unit).ok()?;
        let order = BatchOrder {
            id,
            extends: true,
            name: order.name,
            model: order.model,
            job: self.job(),
            spec: order.spec,
            part: PartOrder { digest: part.digest, bytes: part.bytes.clone() },
            samples: choice.samples,
            drawn,
            timeout: self.terms.as_ref().map_or(ENGINE_TIMEOUT, |terms| terms.engine_timeout),
        };
        Some((order, part))
    }

    /// Returns the most samples of a unit that a slot should hold: for [`BATCH_MS`], and twice as many as its engine answers at once.
    /// While no sample of the model has a result, its speed is unknown, and [`MIN_SHARE`] samples find it out.
    fn enough(&self, plan: &Plan, unit: UnitId) -> usize {
        let model = plan.model_of(unit);
        let (mut ms, mut samples) = self.sample_ms.get(&model).copied().unwrap_or_default();
        for busy in self.slots.iter().filter_map(|slot| slot.busy.as_ref()).filter(|busy| busy.model == model) {
            let done = busy.samples.len().saturating_sub(busy.left);
            if done > 0 {
                ms += self.now_ms.saturating_sub(busy.computed_since_ms) as f64;
                samples += done as f64;
            }
        }
        let is_side_by_side =
            |unit: &Unit<'_>| unit.dataset.infer.generation().is_some() || unit.model.kind == ModelKind::Endpoint;
        let at_once = self.sequences.get(&model).filter(|_| plan.unit(unit).is_some_and(|unit| is_side_by_side(&unit)));
        let at_once = at_once.copied().unwrap_or(0) as usize;
        ((BATCH_MS * samples / ms.max(1.0)) as usize).max(2 * at_once).max(MIN_SHARE)
    }

    /// Returns the bytes that tell the current job from others: its plan, and the run of it.
    fn job(&self) -> Arc<Vec<u8>> {
        let job = self.terms.as_ref().map(|terms| [terms.plan.0.as_slice(), &terms.run].concat());
        Arc::new(job.unwrap_or_default())
    }

    fn unit_order(&mut self, unit: &Unit<'_>) -> Result<UnitOrder, String> {
        if let Some(order) = self.unit_orders.get(&unit.id) {
            return Ok(order.clone());
        }
        let spec = BatchSpec::of_unit(unit);
        let mut model = unit.model.clone();
        let paths = self.terms.as_ref().map_or(&[][..], |terms| &terms.paths);
        for path in [&mut model.path, &mut model.tokenizer_path].into_iter().chain(&mut model.peft_path) {
            if let Some(here) = map_path(paths, path) {
                *path = here;
            }
        }
        let model = serde_json::to_vec(&model).map_err(|error| error.to_string())?;
        let model = ModelOrder {
            plan: model,
            device: self.boot.device.clone(),
            num_gpus: unit.model.num_gpus,
            deterministic: unit.model.deterministic,
        };
        let spec = serde_json::to_vec(&spec).map_err(|error| error.to_string())?;
        let order = UnitOrder { name: unit.name().into(), model: Arc::new(model), spec: Arc::new(spec) };
        self.unit_orders.insert(unit.id, order.clone());
        Ok(order)
    }

    /// Requests the parts that pending grants will need first, unless it delays a needed part; in a pool that continues
    /// while disconnected, all parts that they will need.
    fn fetch_ahead(&mut self, plan: &Plan) {
        let all = self.terms.as_ref().is_some_and(|terms| terms.offline_continue);
        let dataset = |held: &GrantState| plan.unit(held.unit).map(|unit| unit.dataset);
        let digests: Vec<_> = match all {
            true => self.grants.iter().filter_map(|held| Some(held.parts(dataset(held)?))).flatten().collect(),
            false => {
                let waiting = self.grants.iter().filter(|held| held.slot.is_none() && held.has_waiting());
                waiting.filter_map(|held| Some(held.next_batch(dataset(held)?, 1)?.part)).collect()
            }
        };
        for digest in digests {
            if self.parts.has_room() && self.parts.get(&digest).is_none() {
                self.fetch(digest);
            }
        }
    }
}

fn missing_sample(held: &GrantState, unit: &Unit<'_>) -> String {
    format!("the grant of task {} has samples that are missing in {}", held.key.task, unit.dataset.abbr)
}

#[cfg(test)]
#[path = "dispatch_tests.rs"]
mod tests;
