//! From what the slots say to what the master hears: results, reports, failures.

use super::batch::LARGE_RESULT_BYTES;
use super::grants::GrantKey;
use super::outbox::Attachment;
use super::session::Agent;
use super::slots::Busy;
use crate::engine_link::{PackEnd, SlotEvent, SlotReport};
use compass_common::ids::Digest;
use compass_common::result::SampleResult;
use compass_proto::v1;
use prost::Message;
use std::sync::Arc;
use v1::sample_result::Outcome;
use v1::worker_frame::Body;

/// A message to the master is cut to so many characters: it goes into logs and summaries.
const MESSAGE_CHARACTERS: usize = 4000;

impl Agent {
    /// Takes what a slot says.
    pub(super) fn slot_report(&mut self, report: SlotReport) {
        let Some(state) = self.slots.get_mut(report.slot) else { return };
        match report.event {
            SlotEvent::Ready { facts } => {
                let Some(model) = state.busy.as_ref().filter(|busy| !busy.stale).map(|busy| busy.model) else { return };
                state.resident = Some(model);
                state.model = state.busy.as_ref().and_then(|busy| busy.holds);
                if self.facts.get(&model) != Some(&facts) {
                    self.facts.insert(model, facts.clone());
                    self.outbox.push(Body::Facts(v1::Facts { model, facts }), Vec::new());
                }
            }
            SlotEvent::Result(result) => {
                let Some(busy) = state.busy.as_ref().filter(|busy| !busy.stale) else { return };
                let (grant, part) = (busy.grant, busy.part.part.clone());
                self.result(grant, &part, result);
            }
            SlotEvent::Ended { pack, end } => {
                if let Some(busy) = state.busy.take_if(|busy| busy.pack == pack) {
                    if !matches!(end, PackEnd::Done { .. }) {
                        (state.resident, state.model, state.unit) = (None, None, None);
                    }
                    if !busy.stale {
                        self.pack_ended(busy, end);
                    }
                }
            }
        }
    }

    fn pack_ended(&mut self, busy: Busy, end: PackEnd) {
        let grant = busy.grant;
        let seconds = self.clock.now_ms().saturating_sub(busy.since_ms) as f64 / 1000.0;
        let Some(held) = self.grants.get_mut(grant) else { return };
        if let Some(shard) = &mut held.shard {
            shard.pack_ended(&end, seconds);
        }
        match end {
            PackEnd::Done { .. } => self.retry_alone(&busy, "the engine gave no result for this sample, twice".into()),
            PackEnd::Broken { message } => {
                self.retry_alone(&busy, format!("the engine died on this sample twice: {message}"));
            }
            PackEnd::LoadFailed { message } => {
                held.unbegun(&busy.samples);
                self.fail(grant, v1::FailureClass::User, message);
            }
            PackEnd::NeverStarted { message } => {
                held.unbegun(&busy.samples);
                self.fail(grant, v1::FailureClass::Infrastructure, message);
            }
        }
        self.settle_all();
    }

    /// Samples of the pack without a result wait again, each alone; for those that had their chances, `reason` is the
    /// result.
    fn retry_alone(&mut self, busy: &Busy, reason: String) {
        let Some(held) = self.grants.get_mut(busy.grant) else { return };
        for index in held.engine_died(&busy.samples) {
            tracing::error!(grant = ?busy.grant, index, reason, "sample given up");
            let outcome = Some(Outcome::Failed(reason.clone()));
            let result = v1::SampleResult { index, outcome, ..Default::default() };
            self.result(busy.grant, &busy.part.part, result);
        }
    }

    fn result(&mut self, grant: GrantKey, part: &compass_common::plan::Part, result: v1::SampleResult) {
        let result = sensible(result);
        let Some(held) = self.grants.get_mut(grant) else { return };
        if !held.finished(result.index) {
            return;
        }
        if let Some(shard) = &mut held.shard {
            shard.observe(part, &result);
        }
        if result.encoded_len() > LARGE_RESULT_BYTES {
            let bytes = Arc::new(result.encode_to_vec());
            let digest = Digest::of(&bytes);
            self.push_results(grant, Vec::new(), vec![Attachment { digest, bytes }]);
        } else if let Some(batch) = self.batches.add(grant, result, self.clock.now_ms()) {
            self.push_results(grant, batch, Vec::new());
        }
    }

    fn push_results(&mut self, grant: GrantKey, samples: Vec<v1::SampleResult>, attachments: Vec<Attachment>) {
        let (Some(held), Some(terms)) = (self.grants.get(grant), &self.terms) else { return };
        let results = v1::Results {
            epoch: grant.epoch.0,
            task: grant.task.0,
            attempt: grant.attempt.0,
            unit: held.unit.0,
            plan: terms.plan.0.to_vec(),
            samples,
            uploaded: attachments.iter().map(|attachment| attachment.digest.0.to_vec()).collect(),
        };
        self.outbox.push(Body::Results(results), attachments);
    }

    /// Sends a grant's open batch.
    pub(super) fn hand_in_batch(&mut self, grant: GrantKey) {
        if let Some(batch) = self.batches.take(grant) {
            self.push_results(grant, batch, Vec::new());
        }
    }

    /// Sends the batches that have waited long enough.
    pub(super) fn hand_in_due(&mut self, now_ms: u64) {
        while let Some(grant) = self.batches.due(now_ms) {
            self.hand_in_batch(grant);
        }
    }

    /// Lets every grant go that is over: with its report, or the acknowledgement of its revocation.
    pub(super) fn settle_all(&mut self) {
        let over: Vec<_> = self.grants.iter().filter(|held| held.is_over()).map(|held| held.key).collect();
        for grant in over {
            self.hand_in_batch(grant);
            let Some(held) = self.grants.remove(grant) else { continue };
            self.pace.over(grant, self.clock.now_ms());
            self.say_credit_if_changed();
            if self.stream.as_ref().is_none_or(|stream| !stream.welcomed) {
                tracing::info!(?grant, "a grant is over that no master hears of yet");
            }
            let body = match held.shard {
                Some(shard) if !held.revoked => Body::Report(shard.report(grant, held.unit, &held.samples)),
                _ => {
                    let GrantKey { epoch, task, attempt } = grant;
                    let (epoch, task, attempt) = (epoch.0, task.0, attempt.0);
                    Body::RevokeAck(v1::RevokeAck { epoch, task, attempt, ..Default::default() })
                }
            };
            self.outbox.push(body, Vec::new());
        }
    }

    /// Gives a grant up; results so far stand.
    pub(super) fn fail(&mut self, grant: GrantKey, class: v1::FailureClass, message: String) {
        tracing::error!(?grant, message, "grant failed");
        self.hand_in_batch(grant);
        self.pace.forget(|known| *known != grant);
        if self.grants.remove(grant).is_none() {
            return;
        }
        let failed = v1::Failed {
            task: grant.task.0,
            attempt: grant.attempt.0,
            class: class.into(),
            message: message.chars().take(MESSAGE_CHARACTERS).collect(),
            epoch: grant.epoch.0,
        };
        self.outbox.push(Body::Failed(failed), Vec::new());
    }
}

/// A result as the master takes it. One that makes no sense would be refused at every replay; that it makes none is
/// what is known of the sample.
fn sensible(result: v1::SampleResult) -> v1::SampleResult {
    match SampleResult::try_from(result.clone()) {
        Ok(_) => result,
        Err(error) => {
            let outcome = Some(Outcome::Failed(format!("the engine gave a result that makes no sense: {error}")));
            v1::SampleResult { index: result.index, outcome, ..Default::default() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_makes_no_sense_becomes_a_failure_that_the_master_takes() {
        let broken = v1::SampleResult { index: 7, ..Default::default() };
        let mended = sensible(broken);
        assert!(matches!(&mended.outcome, Some(Outcome::Failed(reason)) if reason.contains("makes no sense")));
        assert_eq!(SampleResult::try_from(mended.clone()).map(|result| result.index), Ok(7));
        assert_eq!(sensible(mended.clone()), mended);
    }
}
