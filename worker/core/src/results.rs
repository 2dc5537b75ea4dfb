//! Converts reports of slots into frames for the master: results, reports, failures.

use super::grants::GrantState;
use super::order::{BatchEnd, SlotEvent, SlotReport};
use super::result_batch::LARGE_RESULT_BYTES;
use super::session::AgentCore;
use super::slots::Busy;
use compass_plan::engine::{ModelFacts, UnableKind};
use compass_plan::weights::Pin;
use compass_proto::{PROTOCOL_OF_NO_ROOM, v1};
use compass_types::ids::{GrantId, ModelId, UnitId};
use compass_types::result::SampleResult;
use prost::Message;
use v1::sample_result::Outcome;
use v1::worker_frame::Body;

/// Largest result that is kept, in bytes.
const MAX_RESULT_BYTES: usize = 64 * 1024 * 1024;

/// Maximum length of a message to the master, which logs and summaries contain.
const MESSAGE_CHARACTERS: usize = 4000;

impl AgentCore {
    /// Handles a report of a slot.
    pub(super) fn slot_report(&mut self, report: SlotReport) {
        let Some(state) = self.slots.get_mut(report.slot) else { return };
        if !matches!(report.event, SlotEvent::Waiting { .. }) {
            state.waiting = None;
        }
        match report.event {
            SlotEvent::Ready { facts, loaded_seconds } => {
                let Some(busy) = state.busy.as_mut().filter(|busy| !busy.stale) else { return };
                busy.computed_since_ms = self.now_ms;
                let model = busy.model;
                state.resident = Some(model);
                state.model = state.busy.as_ref().and_then(|busy| busy.holds);
                if let Some(seconds) = loaded_seconds {
                    self.loads.insert(model, seconds * 1000.0);
                }
                if loaded_seconds.is_some() || self.facts.get(&model) != Some(&facts) {
                    if let Some(difference) = self.facts.get(&model).and_then(|known| difference(known, &facts)) {
                        self.weights_changed(report.slot, difference);
                        return;
                    }
                    self.facts.insert(model, facts.clone());
                    self.sequences.insert(model, facts_of(&facts).map_or(0, |facts| facts.sequences));
                    let load = loaded_seconds.map(|seconds| v1::Load { slot: report.slot as u32, seconds });
                    self.outbox.push(Body::Facts(v1::Facts { model: model.0, facts, load }));
                }
            }
            SlotEvent::Waiting { reason } => state.waiting = Some(reason.chars().take(MESSAGE_CHARACTERS).collect()),
            SlotEvent::Result(result) => {
                let Some(busy) = state.busy.as_mut().filter(|busy| !busy.stale) else { return };
                busy.left = busy.left.saturating_sub(1);
                let Some(part) = busy.part_of(result.index) else { return };
                let grant = busy.grant;
                self.result(grant, &part, result);
            }
            SlotEvent::NotTaken { batch, samples } => {
                let Some(busy) = state.busy.as_mut().filter(|busy| busy.batch == batch) else { return };
                busy.orders = busy.orders.saturating_sub(1);
                busy.left = busy.left.saturating_sub(samples.len());
                busy.samples.retain(|sample| !samples.contains(sample));
                // A grant of another run may have the same name.
                let grant = Some(busy.grant).filter(|_| !busy.stale);
                if let Some(held) = grant.and_then(|grant| self.grants.get_mut(grant)) {
                    held.requeue(&samples);
                }
            }
            SlotEvent::Ended { batch, orders, end } => {
                let is_done = matches!(end, BatchEnd::Done { .. });
                if let Some(busy) =
                    state.busy.as_mut().filter(|busy| busy.batch == batch && is_done && busy.orders > orders)
                {
                    busy.orders -= orders;
                    let grant = Some(busy.grant).filter(|_| !busy.stale);
                    let held = grant.and_then(|grant| self.grants.get_mut(grant));
                    if let Some(shard) = held.and_then(|held| held.shard.as_mut()) {
                        shard.batch_ended(&end, 0.0);
                    }
                    return;
                }
                if let Some(busy) = state.busy.take_if(|busy| busy.batch == batch) {
                    state.idle_since_ms = self.now_ms;
                    if !is_done {
                        (state.resident, state.model, state.unit) = (None, None, None);
                    }
                    if !busy.stale {
                        self.batch_ended(busy, end);
                    }
                }
            }
        }
    }

    /// Handles that an engine has loaded other weights of its model than an earlier one, whose facts the master has:
    /// its results must not count.
    fn weights_changed(&mut self, slot: usize, difference: String) {
        let Some(state) = self.slots.get_mut(slot) else { return };
        (state.resident, state.model, state.unit) = (None, None, None);
        let Some(busy) = &mut state.busy else { return };
        busy.stale = true;
        let grant = busy.grant;
        let message = format!("the model's files changed while this worker used them: {difference}");
        self.give_up(grant, v1::FailureClass::Unable, v1::UnableKind::Content, message);
    }

    /// Returns the digest of the weights with which this worker computes a unit, empty for a model without weights, and the
    /// name of what computes it.
    fn origin_of(&self, unit: UnitId) -> (Vec<u8>, String) {
        let model = self.plan.as_ref().map(|plan| plan.model_of(unit));
        let facts = model.and_then(|model| self.facts.get(&model)).and_then(|facts| facts_of(facts));
        let Some(ModelFacts { pin, device, .. }) = facts else { return Default::default() };
        (pin.map(|pin| pin.weights.digest.0.to_vec()).unwrap_or_default(), device)
    }

    /// Returns the readable name of a unit.
    fn name_of(&self, unit: UnitId) -> String {
        self.plan.as_ref().and_then(|plan| plan.unit(unit)).map(|unit| unit.name()).unwrap_or_default()
    }

    fn batch_ended(&mut self, busy: Busy, end: BatchEnd) {
        let grant = busy.grant;
        let seconds = self.now_ms.saturating_sub(busy.since_ms) as f64 / 1000.0;
        if matches!(end, BatchEnd::Done { .. }) {
            let (ms, samples) = self.sample_ms.entry(busy.model).or_default();
            let computed = self.now_ms.saturating_sub(busy.computed_since_ms) as f64;
            (*ms, *samples) = (*ms + computed, *samples + busy.samples.len() as f64);
        }
        let Some(held) = self.grants.get_mut(grant) else { return };
        if let Some(shard) = &mut held.shard {
            shard.batch_ended(&end, seconds);
        }
        match end {
            BatchEnd::Done { .. } => self.retry_alone(&busy, "the engine gave no result for this sample, twice".into()),
            BatchEnd::EngineDied { message } => {
                self.retry_alone(&busy, format!("the engine died on this sample twice: {message}"));
            }
            BatchEnd::Refused { message } | BatchEnd::LoadFailed { kind: UnableKind::Refused, message } => {
                held.requeue(&busy.samples);
                self.refused(busy.model, &message);
            }
            BatchEnd::LoadFailed { kind, message } => {
                held.requeue(&busy.samples);
                // If another slot has loaded the model, this slot's device is at fault, not the files.
                let is_held =
                    kind == UnableKind::Device && self.slots.iter().any(|slot| slot.resident == Some(busy.model));
                match is_held {
                    true => self.fail(grant, v1::FailureClass::Infrastructure, message),
                    false => self.cannot_load(busy.model, grant, kind, &message),
                }
            }
            BatchEnd::NeverStarted { message } | BatchEnd::DeviceLost { message } => {
                held.requeue(&busy.samples);
                self.fail(grant, v1::FailureClass::Infrastructure, message);
            }
        }
        self.finish_all();
    }

    /// Gives up every grant of a model that cannot be loaded, starting with the one that showed it.
    fn cannot_load(&mut self, model: ModelId, first: GrantId, kind: UnableKind, message: &str) {
        let plan = self.plan.clone();
        let is_of_model = |unit| plan.as_ref().is_some_and(|plan| plan.model_of(unit) == model);
        let others = self.grants.iter().filter(|held| held.key != first && is_of_model(held.unit));
        let grants: Vec<_> = std::iter::once(first).chain(others.map(|held| held.key)).collect();
        for grant in grants {
            self.give_up(grant, v1::FailureClass::Unable, kind.into(), message.to_owned());
        }
    }

    /// Fails every grant of a model that no worker can run.
    fn refused(&mut self, model: ModelId, message: &str) {
        let plan = self.plan.clone();
        let is_of_model = |unit| plan.as_ref().is_some_and(|plan| plan.model_of(unit) == model);
        let grants: Vec<_> = self.grants.iter().filter(|held| is_of_model(held.unit)).map(|held| held.key).collect();
        for grant in grants {
            self.fail(grant, v1::FailureClass::User, message.to_owned());
        }
    }

    /// Makes samples without a result pending again, each alone; for those that must not be retried, `reason` is the
    /// result.
    fn retry_alone(&mut self, busy: &Busy, reason: String) {
        let Some(held) = self.grants.get_mut(busy.grant) else { return };
        let (unit, given_up) = (held.unit, held.engine_died(&busy.samples));
        for index in given_up {
            tracing::error!(of = self.name_of(unit), index, reason, "sample given up");
            let outcome = Some(Outcome::Failed(reason.clone()));
            let result = v1::SampleResult { index, outcome, engine_failed: true, ..Default::default() };
            let Some(part) = busy.part_of(index) else { continue };
            self.result(busy.grant, &part, result);
        }
    }

    fn result(&mut self, grant: GrantId, part: &compass_plan::Part, result: v1::SampleResult) {
        let mut result = valid_or_failed(result);
        let Some(held) = self.grants.get_mut(grant) else { return };
        if let Some(Outcome::NoRoom(why)) = &mut result.outcome {
            let why = std::mem::take(why);
            if self.terms.as_ref().is_some_and(|terms| terms.protocol >= PROTOCOL_OF_NO_ROOM) {
                held.has_no_room(result.index, why);
                return;
            }
            result.outcome = Some(Outcome::Failed(why));
        }
        if !held.finished(result.index) {
            return;
        }
        if let Some(shard) = &mut held.shard {
            shard.observe(part, &result);
        }
        if result.encoded_len() > LARGE_RESULT_BYTES {
            self.push_results(grant, vec![result]);
        } else if let Some(batch) = self.result_batches.add(grant, result, self.now_ms) {
            self.push_results(grant, batch);
        }
    }

    fn push_results(&mut self, grant: GrantId, samples: Vec<v1::SampleResult>) {
        let (Some(held), Some(terms)) = (self.grants.get(grant), &self.terms) else { return };
        let (weights, device) = self.origin_of(held.unit);
        let (grant, plan) = (Some(grant.into()), terms.plan.0.to_vec());
        let results = v1::Results { grant, unit: held.unit.0, plan, weights, device, samples };
        self.outbox.push_of(&held.assignment, Body::Results(results));
    }

    /// Sends a grant's open batch.
    pub(super) fn send_results(&mut self, grant: GrantId) {
        if let Some(batch) = self.result_batches.take(grant) {
            self.push_results(grant, batch);
        }
    }

    /// Sends the batches that have waited long enough.
    pub(super) fn send_due_results(&mut self, now_ms: u64) {
        while let Some(grant) = self.result_batches.due(now_ms) {
            self.send_results(grant);
        }
    }

    /// Returns whether a batch of the grant has not ended: its token counters are still to come.
    fn has_open_batch(&self, grant: GrantId) -> bool {
        self.slots.iter().filter_map(|slot| slot.busy.as_ref()).any(|busy| busy.grant == grant && !busy.stale)
    }

    /// Removes every finished grant: sends its report, or acknowledges its revocation.
    pub(super) fn finish_all(&mut self) {
        let over = self.grants.iter().filter(|held| held.is_over() && !self.has_open_batch(held.key));
        let over: Vec<_> = over.map(|held| held.key).collect();
        for grant in over {
            if let Some(why) = self.grants.get(grant).and_then(GrantState::why_no_room) {
                self.give_back(grant, v1::FailureClass::NoRoom, why);
                continue;
            }
            self.send_results(grant);
            let Some(held) = self.grants.remove(grant) else { continue };
            self.credit_control.finished(grant, self.now_ms);
            self.send_credit_if_changed();
            if let Some(shard) = &held.shard {
                shard.log(grant.task, &self.name_of(held.unit));
            }
            if self.stream.as_ref().is_none_or(|stream| !stream.welcomed) {
                tracing::info!(task = %grant.task, "its results wait for a connection to the master");
            }
            let body = match &held.shard {
                Some(shard) if !held.revoked => Body::Report(shard.report(grant, held.unit, &held.samples)),
                _ => Body::RevokeAck(v1::RevokeAck { grant: Some(grant.into()), ..Default::default() }),
            };
            self.outbox.push_of(&held.assignment, body);
        }
    }

    /// Gives back the samples of a grant that have no result, and reports on the others.
    pub(super) fn give_back(&mut self, grant: GrantId, class: v1::FailureClass, why: String) {
        let held = self.grants.get(grant);
        let report = held.and_then(|held| {
            let done = held.samples.minus(&held.open());
            let report = held.shard.as_ref()?.report(grant, held.unit, &done);
            (!done.is_empty()).then(|| (held.assignment.clone(), report))
        });
        self.fail(grant, class, why);
        if let Some((assignment, report)) = report {
            self.outbox.push_of(&assignment, Body::Report(report));
        }
    }

    /// Gives a grant up; its results so far count.
    pub(super) fn fail(&mut self, grant: GrantId, class: v1::FailureClass, message: String) {
        self.give_up(grant, class, v1::UnableKind::Unspecified, message);
    }

    fn give_up(&mut self, grant: GrantId, class: v1::FailureClass, kind: v1::UnableKind, message: String) {
        let of = self.grants.get(grant).map(|held| self.name_of(held.unit)).unwrap_or_default();
        tracing::error!(task = %grant.task, of, "the task was given back to the master: {message}");
        self.send_results(grant);
        self.credit_control.forget(|known| *known != grant);
        if self.grants.remove(grant).is_none() {
            return;
        }
        let failed = v1::Failed {
            grant: Some(grant.into()),
            class: class.into(),
            message: message.chars().take(MESSAGE_CHARACTERS).collect(),
            kind: kind.into(),
        };
        self.outbox.push(Body::Failed(failed));
    }
}

/// Returns an engine's facts, given as JSON.
fn facts_of(facts: &[u8]) -> Option<ModelFacts> {
    serde_json::from_slice(facts).ok()
}

/// Returns the weights that an engine has loaded, by its facts as JSON.
fn pin_of(facts: &[u8]) -> Option<Pin> {
    facts_of(facts)?.pin
}

/// Describes the difference between the weights of two engines, by their facts.
fn difference(known: &[u8], found: &[u8]) -> Option<String> {
    pin_of(known)?.difference(&pin_of(found)?)
}

/// Returns the result if the master will accept it; otherwise its failure. A malformed or too large result would be
/// rejected at every replay.
fn valid_or_failed(result: v1::SampleResult) -> v1::SampleResult {
    let size = result.encoded_len();
    let reason = match SampleResult::try_from(result.clone()) {
        Ok(_) if size <= MAX_RESULT_BYTES => return result,
        Ok(_) => format!("the result takes {size} bytes; one of more than {MAX_RESULT_BYTES} is not kept"),
        Err(error) => format!("the engine gave a malformed result: {error}"),
    };
    let outcome = Some(Outcome::Failed(reason));
    v1::SampleResult { index: result.index, outcome, engine_failed: true, ..Default::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_proto::MAX_SPILLED_BYTES;

    #[test]
    fn malformed_result_becomes_a_valid_failure() {
        let broken = v1::SampleResult { index: 7, ..Default::default() };
        let mended = valid_or_failed(broken);
        assert!(matches!(&mended.outcome, Some(Outcome::Failed(reason)) if reason.contains("malformed")));
        assert_eq!(SampleResult::try_from(mended.clone()).map(|result| result.index), Ok(7));
        assert_eq!(valid_or_failed(mended.clone()), mended);
    }

    #[test]
    fn result_beyond_the_maximum_becomes_a_failure_with_its_size() {
        let of_size = |bytes: usize| {
            let result = |length| {
                let outcome = Some(Outcome::Failed("x".repeat(length)));
                v1::SampleResult { index: 7, outcome, ..Default::default() }
            };
            result(bytes - (result(bytes).encoded_len() - bytes))
        };
        for bytes in [MAX_RESULT_BYTES - 1, MAX_RESULT_BYTES] {
            let result = valid_or_failed(of_size(bytes));
            assert_eq!(result.encoded_len(), bytes);
            let results = v1::Results { plan: vec![0; 32], samples: vec![result], ..Default::default() };
            assert!(results.encoded_len() + 100 < MAX_SPILLED_BYTES);
        }
        let failed = valid_or_failed(of_size(MAX_RESULT_BYTES + 1));
        let Some(Outcome::Failed(reason)) = &failed.outcome else { panic!() };
        assert!(reason.contains(&(MAX_RESULT_BYTES + 1).to_string()), "{reason}");
    }
}
