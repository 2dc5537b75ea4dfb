//! Fetches the plan's head and its parts when they are needed.

use super::ending::ExitReason;
use super::output::Output;
use super::session::AgentCore;
use super::transfer::BulkError;
use compass_plan::{PLAN_FORMAT, Plan};
use compass_proto::v1::FailureClass;
use compass_types::ids::Digest;
use std::sync::Arc;
use std::time::Duration;

/// Pause after a failed fetch.
const FETCH_PAUSE: Duration = Duration::from_millis(500);

impl AgentCore {
    /// Requests content, unless it is already on its way or there is no connection.
    pub(super) fn fetch(&mut self, digest: Digest) {
        if self.stream.as_ref().is_some_and(|stream| stream.welcomed) && self.fetching.insert(digest) {
            self.outputs.push(Output::Fetch { digest, pause: FETCH_PAUSE });
        }
    }

    /// Handles the result of a fetch. After a failure, the content is requested again if it is still needed.
    pub(super) fn fetched(&mut self, digest: Digest, content: Result<Vec<u8>, BulkError>) {
        self.fetching.remove(&digest);
        let is_head = self.terms.as_ref().is_some_and(|terms| terms.plan == digest);
        match content {
            Ok(bytes) if is_head => self.take_head(&bytes),
            Ok(bytes) => {
                if let Err(error) = self.parts.keep(digest, bytes) {
                    self.part_failed(digest, &error.to_string());
                }
            }
            Err(BulkError::Permanent(reason)) if !is_head => self.part_failed(digest, &reason),
            Err(error) => tracing::warn!(digest = digest.short(), %error, "fetch failed; retrying"),
        }
    }

    fn take_head(&mut self, bytes: &[u8]) {
        match serde_json::from_slice::<Plan>(bytes) {
            Ok(plan) if plan.format == PLAN_FORMAT => self.plan = Some(Arc::new(plan)),
            Ok(plan) => {
                let reason = format!("its plan has format {}, this worker reads {PLAN_FORMAT}", plan.format);
                self.ending = Some(ExitReason::Refused { reason });
            }
            Err(error) => self.ending = Some(ExitReason::Refused { reason: format!("cannot read its plan: {error}") }),
        }
    }

    fn part_failed(&mut self, digest: Digest, reason: &str) {
        let Some(plan) = self.plan.clone() else { return };
        let needs = |held: &&super::grants::GrantState| {
            let batch = plan.unit(held.unit).and_then(|unit| held.next_batch(unit.dataset, 1));
            batch.is_some_and(|batch| batch.part == digest)
        };
        let failing: Vec<_> = self.grants.iter().filter(needs).map(|held| held.key).collect();
        for grant in failing {
            self.fail(grant, FailureClass::Transient, format!("part {} of the plan: {reason}", digest.short()));
        }
    }
}
