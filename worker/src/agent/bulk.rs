//! Large content by digest, on a connection of its own, so that no heartbeat waits behind it.

use crate::dial::error_chain;
use compass_common::ids::Digest;
use compass_proto::v1::workers_client::WorkersClient;
use compass_proto::{CHUNK_BYTES, MAX_FRAME_BYTES, delimited, v1};
use std::sync::Arc;
use tonic::Code;
use tonic::transport::Channel;

/// Why content did not travel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BulkError {
    /// Trying again is of no use.
    #[error("{0}")]
    Hopeless(String),
    /// The connection, or the master's mood.
    #[error("{0}")]
    Again(String),
}

impl From<tonic::Status> for BulkError {
    fn from(status: tonic::Status) -> Self {
        let message = error_chain(&status);
        match status.code() {
            Code::NotFound | Code::InvalidArgument | Code::OutOfRange => Self::Hopeless(message),
            _ => Self::Again(message),
        }
    }
}

/// See the module. Connects when first used.
#[derive(Clone, Debug)]
pub(super) struct Bulk(WorkersClient<Channel>);

impl Bulk {
    pub(super) fn new(channel: Channel) -> Self {
        Self(WorkersClient::new(channel).max_decoding_message_size(MAX_FRAME_BYTES))
    }

    /// The content named `digest`, checked.
    pub(super) async fn fetch(mut self, digest: Digest) -> Result<Vec<u8>, BulkError> {
        let mut chunks = self.0.fetch(v1::FetchRequest { digest: digest.0.to_vec() }).await?.into_inner();
        let mut bytes = Vec::new();
        while let Some(chunk) = chunks.message().await? {
            bytes.extend_from_slice(&chunk.data);
            if bytes.len() > delimited::MAX_MESSAGE_BYTES {
                return Err(BulkError::Hopeless(format!("{} is larger than any part may be", digest.short())));
            }
        }
        if Digest::of(&bytes) != digest {
            return Err(BulkError::Again(format!("{} came damaged", digest.short())));
        }
        Ok(bytes)
    }

    /// Puts content at the master.
    pub(super) async fn upload(mut self, digest: Digest, bytes: Arc<Vec<u8>>) -> Result<(), BulkError> {
        let mut chunks: Vec<_> =
            bytes.chunks(CHUNK_BYTES).map(|data| v1::UploadChunk { digest: Vec::new(), data: data.to_vec() }).collect();
        if let Some(first) = chunks.first_mut() {
            first.digest = digest.0.to_vec();
        }
        self.0.upload(tokio_stream::iter(chunks)).await?;
        Ok(())
    }
}
