//! What a server remembers: every job that it accepted, and how each ended, in a store that it alone has open.

use crate::broker::JobId;
use crate::cli::exit;
use crate::job::{Failure, JobRecord};
use crate::store::{EmbeddedStore, Leadership, LeaseStore, Op, StoreError};
use compass_common::ids::Epoch;
use std::path::Path;

/// The store's name in the state folder.
const NAME: &str = "serve";
const JOBS: &str = "jobs/";
/// Jobs that have ended are remembered, so many of them.
const ENDED: usize = 100;

/// See the module.
#[derive(Debug)]
pub(super) struct Jobs {
    store: EmbeddedStore,
    leadership: Leadership,
}

impl Jobs {
    /// Opens the store as `holder`.
    ///
    /// # Errors
    /// Another server has it, or it cannot be opened.
    pub(super) async fn open(state_dir: &Path, holder: &str) -> Result<Self, Failure> {
        let opened = EmbeddedStore::open(state_dir, NAME).map_err(|error| match error {
            StoreError::Held { holder } => Failure {
                code: exit::INFRASTRUCTURE,
                text: format!(
                    "error: a server works in {} already: {holder}\n  = help: submit jobs to it, or give this one another \
                     `state_dir` in [master]",
                    state_dir.display()
                ),
            },
            error => Failure::of_store(&error),
        });
        let mut store = opened?;
        let leadership = store.campaign(holder, Epoch(0)).await.map_err(|error| Failure::of_store(&error))?;
        Ok(Self { store, leadership })
    }

    /// All jobs in the order in which they were accepted; of those that have ended the latest.
    pub(super) async fn all(&mut self) -> Result<Vec<JobRecord>, StoreError> {
        let mut jobs: Vec<(String, JobRecord)> = Vec::new();
        for (key, bytes) in self.store.scan_all(JOBS).await? {
            match serde_json::from_slice(&bytes) {
                Ok(job) => jobs.push((key, job)),
                Err(error) => tracing::warn!(key, %error, "a job of another version is left alone"),
            }
        }
        jobs.sort_by(|(_, a), (_, b)| a.submitted.cmp(&b.submitted));
        let ended = jobs.iter().filter(|(_, job)| job.ended.is_some()).count();
        let mut surplus = ended.saturating_sub(ENDED);
        let (mut forgotten, mut kept) = (Vec::new(), Vec::new());
        for (key, job) in jobs {
            if job.ended.is_some() && surplus > 0 {
                surplus -= 1;
                forgotten.push(Op::Delete { key });
            } else {
                kept.push(job);
            }
        }
        for ops in forgotten.chunks(ENDED) {
            self.store.commit(&self.leadership, ops.to_vec()).await?;
        }
        Ok(kept)
    }

    /// Makes a job, or what has become of it, durable.
    pub(super) async fn keep(&mut self, job: &JobRecord) -> Result<(), StoreError> {
        let value = serde_json::to_vec(job).unwrap_or_default();
        let key = format!("{JOBS}{}", JobId::of(&job.plan));
        self.store.commit(&self.leadership, vec![Op::Put { key, value }]).await
    }
}
