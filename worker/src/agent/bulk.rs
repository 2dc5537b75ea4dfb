//! Bulk content by digest, on a connection of its own, so that heartbeats never wait behind it.

use crate::dial::error_chain;
use compass_agent::BulkError;
use compass_proto::v1::workers_client::WorkersClient;
use compass_proto::{CHUNK_BYTES, MAX_FRAME_BYTES, MAX_SPILLED_BYTES, delimited, v1};
use compass_types::ids::Digest;
use std::sync::Arc;
use tonic::Code;
use tonic::transport::Channel;

/// Converts a status: whether a retry may succeed.
fn told(status: tonic::Status) -> BulkError {
    let message = error_chain(&status);
    match status.code() {
        Code::NotFound | Code::InvalidArgument | Code::OutOfRange => BulkError::Permanent(message),
        Code::ResourceExhausted => BulkError::Full(message),
        _ => BulkError::Retryable(message),
    }
}

/// The session for which content is uploaded, as in its hello.
#[derive(Clone, Debug)]
pub(super) struct Uploader {
    pub(super) worker: String,
    pub(super) session: String,
    pub(super) dial: u64,
}

impl Uploader {
    pub(super) fn of(hello: &v1::Hello) -> Self {
        Self { worker: hello.worker.clone(), session: hello.session.clone(), dial: hello.dial }
    }
}

/// Fetches and uploads bulk content by digest. Connects on first use.
#[derive(Clone, Debug)]
pub(super) struct Bulk {
    client: WorkersClient<Channel>,
    from: Uploader,
}

impl Bulk {
    pub(super) fn new(channel: Channel, from: Uploader) -> Self {
        Self { client: WorkersClient::new(channel).max_decoding_message_size(MAX_FRAME_BYTES), from }
    }

    /// Fetches the content with this digest, and verifies it.
    pub(super) async fn fetch(mut self, digest: Digest) -> Result<Vec<u8>, BulkError> {
        let mut chunks =
            self.client.fetch(v1::FetchRequest { digest: digest.0.to_vec() }).await.map_err(told)?.into_inner();
        let mut bytes = Vec::new();
        while let Some(chunk) = chunks.message().await.map_err(told)? {
            bytes.extend_from_slice(&chunk.data);
            if bytes.len() > delimited::MAX_MESSAGE_BYTES.max(MAX_SPILLED_BYTES) {
                return Err(BulkError::Permanent(format!(
                    "the content {} exceeds the maximum size of a part",
                    digest.short()
                )));
            }
        }
        if Digest::of(&bytes) != digest {
            return Err(BulkError::Retryable(format!("the content {} was received damaged", digest.short())));
        }
        Ok(bytes)
    }

    /// Uploads content to the master.
    pub(super) async fn upload(mut self, digest: Digest, bytes: Arc<Vec<u8>>) -> Result<(), BulkError> {
        let Uploader { worker, session, dial } = self.from;
        let length = bytes.len() as u64;
        // The first chunk names session and total size: the master reserves memory.
        let first = v1::UploadChunk { digest: digest.0.to_vec(), worker, session, dial, length, data: Vec::new() };
        let content = (0..bytes.len()).step_by(CHUNK_BYTES).map(move |at| {
            let data = bytes.get(at..bytes.len().min(at + CHUNK_BYTES)).unwrap_or_default().to_vec();
            v1::UploadChunk { data, ..Default::default() }
        });
        self.client.upload(tokio_stream::iter(std::iter::once(first).chain(content))).await.map_err(told)?;
        Ok(())
    }
}
