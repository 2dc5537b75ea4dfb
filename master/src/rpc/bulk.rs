//! Bulk by digest: the plan's files go out, oversized results come in. Never on a session's connection.

use compass_common::ids::Digest;
use compass_proto::CHUNK_BYTES;
use compass_proto::v1;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

/// Most bytes of uploads that wait for the frame that names them.
const MAX_UPLOADED_BYTES: usize = 256 * 1024 * 1024;

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

    /// Nobody asks for this plan any more.
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
    pub async fn stream(&self, digest: Digest) -> Result<ReceiverStream<Result<v1::Chunk, Status>>, Status> {
        let path = self.find(&digest);
        let path = path.ok_or_else(|| Status::not_found(format!("the plan has no file {}", digest.short())))?;
        let bytes = tokio::fs::read(&path).await;
        let bytes = bytes.map_err(|error| Status::internal(format!("cannot read {}: {error}", path.display())))?;
        let (sender, receiver) = mpsc::channel(4);
        tokio::spawn(async move {
            for chunk in bytes.chunks(CHUNK_BYTES) {
                if sender.send(Ok(v1::Chunk { data: chunk.to_vec() })).await.is_err() {
                    return;
                }
            }
        });
        Ok(ReceiverStream::new(receiver))
    }
}

/// Results that were too large for a frame, until their frame comes. Bounded; the oldest upload is not evicted but the
/// newest refused, so that a worker never loses what it was told is here.
#[derive(Clone, Debug, Default)]
pub struct Uploads {
    held: Arc<Mutex<BTreeMap<Digest, Vec<u8>>>>,
}

impl Uploads {
    /// Keeps `bytes` under their digest.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when the digest is another's, `RESOURCE_EXHAUSTED` when too much waits already.
    pub fn put(&self, digest: Digest, bytes: Vec<u8>) -> Result<(), Status> {
        if Digest::of(&bytes) != digest {
            return Err(Status::invalid_argument("the upload does not match its digest"));
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting: usize = held.values().map(Vec::len).sum();
        if waiting + bytes.len() > MAX_UPLOADED_BYTES {
            return Err(Status::resource_exhausted("too many uploads wait for their frames; try again"));
        }
        held.insert(digest, bytes);
        Ok(())
    }

    /// Lets go of uploads that a frame names which came before: nobody will take them.
    pub fn discard(&self, frame: &v1::WorkerFrame) {
        if let Some(v1::worker_frame::Body::Results(results)) = &frame.body {
            let digests = results.uploaded.iter().filter_map(|digest| compass_proto::digest_from_wire(digest).ok());
            digests.for_each(|digest| drop(self.take(&digest)));
        }
    }

    /// Takes an upload out.
    pub fn take(&self, digest: &Digest) -> Option<Vec<u8>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(digest)
    }
}
