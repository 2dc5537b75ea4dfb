//! The plan's files by digest, in chunks. Never on a session's connection.

use compass_plan::read_plan_file;
use compass_proto::CHUNK_BYTES;
use compass_proto::v1;
use compass_types::ids::Digest;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

/// The files of plans by digest.
#[derive(Clone, Debug, Default)]
pub struct PlanFiles {
    /// By plan: the same part may belong to several.
    plans: Arc<Mutex<BTreeMap<Digest, Plan>>>,
}

/// The files of one plan.
type Plan = Arc<BTreeMap<Digest, PathBuf>>;

impl PlanFiles {
    /// Files that may be fetched, and nothing else.
    pub fn new(files: BTreeMap<Digest, PathBuf>) -> Self {
        let plans = Self::default();
        plans.add(Digest([0; 32]), files);
        plans
    }

    /// The files of one more plan.
    pub fn add(&self, plan: Digest, files: BTreeMap<Digest, PathBuf>) {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner).insert(plan, Arc::new(files));
    }

    /// This plan is not requested any more.
    pub fn remove(&self, plan: &Digest) {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner).remove(plan);
    }

    fn find(&self, digest: &Digest) -> Option<PathBuf> {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.values().find_map(|files| files.get(digest)).cloned()
    }

    /// The content in chunks.
    ///
    /// # Errors
    /// `NOT_FOUND` for a digest that the plan does not name.
    pub async fn stream(&self, digest: Digest) -> Result<Chunks, Status> {
        let path = self.find(&digest);
        let path = path.ok_or_else(|| Status::not_found(format!("the plan has no file {}", digest.short())))?;
        let unreadable = |error: &dyn Display| Status::internal(format!("cannot read {}: {error}", path.display()));
        let from = path.clone();
        let read = tokio::task::spawn_blocking(move || read_plan_file(&from, &digest)).await;
        let bytes = read.map_err(|error| unreadable(&error))?.map_err(|error| unreadable(&error))?;
        Ok(in_chunks(Arc::new(bytes), || {}))
    }
}

/// Content on its way to a worker.
pub(super) type Chunks = ReceiverStream<Result<v1::Chunk, Status>>;

/// `bytes` in chunks; `sent` is called once all of them have left.
pub(super) fn in_chunks(bytes: Arc<Vec<u8>>, sent: impl FnOnce() + Send + 'static) -> Chunks {
    let (sender, receiver) = mpsc::channel(4);
    tokio::spawn(async move {
        for chunk in bytes.chunks(CHUNK_BYTES) {
            if sender.send(Ok(v1::Chunk { data: chunk.to_vec() })).await.is_err() {
                return;
            }
        }
        sent();
    });
    ReceiverStream::new(receiver)
}
