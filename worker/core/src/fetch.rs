//! The plan's head and its parts: asked for when needed, kept when they come.

use super::ending::Ending;
use super::output::Output;
use super::session::AgentCore;
use super::transfer::BulkError;
use compass_plan::{PLAN_FORMAT, Plan};
use compass_proto::v1::FailureClass;
use compass_types::ids::Digest;
use std::sync::Arc;
use std::time::Duration;

/// Pause after a fetch that failed.
const FETCH_PAUSE: Duration = Duration::from_millis(500);

impl AgentCore {
    /// Asks for content, unless it is on its way already or nobody can be asked.
    pub(super) fn fetch(&mut self, digest: Digest) {
        if self.stream.as_ref().is_some_and(|stream| stream.welcomed) && self.fetching.insert(digest) {
            self.outputs.push(Output::Fetch { digest, pause: FETCH_PAUSE });
        }
    }

    /// Takes what came. What did not is asked for again by whoever still needs it.
    pub(super) fn fetched(&mut self, digest: Digest, content: Result<Vec<u8>, BulkError>) {
        self.fetching.remove(&digest);
        let is_head = self.terms.as_ref().is_some_and(|terms| terms.plan == digest);
        match content {
            Ok(bytes) if is_head => self.take_head(&bytes),
            Ok(bytes) => {
                if let Err(error) = self.parts.keep(digest, bytes) {
                    self.part_is_hopeless(digest, &error.to_string());
                }
            }
            Err(BulkError::Hopeless(reason)) if !is_head => self.part_is_hopeless(digest, &reason),
            Err(error) => tracing::warn!(digest = digest.short(), %error, "fetch failed; trying again"),
        }
    }

    fn take_head(&mut self, bytes: &[u8]) {
        match serde_json::from_slice::<Plan>(bytes) {
            Ok(plan) if plan.format == PLAN_FORMAT => self.plan = Some(Arc::new(plan)),
            Ok(plan) => {
                let reason = format!("its plan has format {}, this worker reads {PLAN_FORMAT}", plan.format);
                self.ending = Some(Ending::Refused { reason });
            }
            Err(error) => self.ending = Some(Ending::Refused { reason: format!("its plan cannot be read: {error}") }),
        }
    }

    fn part_is_hopeless(&mut self, digest: Digest, reason: &str) {
        let Some(plan) = self.plan.clone() else { return };
        let needs = |held: &&super::grants::Held| {
            let batch = plan.unit(held.unit).and_then(|unit| held.next_batch(unit.dataset, 1));
            batch.is_some_and(|batch| batch.part == digest)
        };
        let failing: Vec<_> = self.grants.iter().filter(needs).map(|held| held.key).collect();
        for grant in failing {
            self.fail(grant, FailureClass::Transient, format!("part {} of the plan: {reason}", digest.short()));
        }
    }
}
