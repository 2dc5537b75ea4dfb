//! The gRPC service and the connections behind it.

use super::bulk::{PlanFiles, Uploads};
use crate::core::ConnectionId;
use crate::stop::raised;
use compass_common::ids::WorkerId;
use compass_proto::v1::workers_server::{Workers, WorkersServer};
use compass_proto::{MAX_FRAME_BYTES, digest_from_wire, v1};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{Request, Response, Status, Streaming};

/// Frames that wait for one worker's connection; a worker that is slower is cut off and may come back.
const OUTBOUND_FRAMES: usize = 1024;
const HELLO_DEADLINE: Duration = Duration::from_secs(10);

/// What the connections tell the driver.
#[derive(Debug)]
pub enum Inbound {
    /// A stream is up and said who it is.
    Hello { connection: ConnectionId, hello: v1::Hello, outbound: mpsc::Sender<Result<v1::MasterFrame, Status>> },
    /// A later frame.
    Frame { worker: WorkerId, connection: ConnectionId, frame: v1::WorkerFrame },
    /// The stream is down.
    Closed { worker: WorkerId, connection: ConnectionId },
}

/// See the module.
#[derive(Clone, Debug)]
pub struct WorkerService {
    inbound: mpsc::Sender<Inbound>,
    files: PlanFiles,
    uploads: Uploads,
    connections: Arc<AtomicU64>,
}

impl WorkerService {
    /// A service that hands frames to `inbound`; while that is full, workers wait.
    pub fn new(inbound: mpsc::Sender<Inbound>, files: PlanFiles, uploads: Uploads) -> Self {
        Self { inbound, files, uploads, connections: Arc::default() }
    }

    async fn forward(self, worker: WorkerId, connection: ConnectionId, mut frames: Streaming<v1::WorkerFrame>) {
        loop {
            match frames.message().await {
                Ok(Some(frame)) => {
                    let worker = worker.clone();
                    if self.inbound.send(Inbound::Frame { worker, connection, frame }).await.is_err() {
                        return;
                    }
                }
                Ok(None) => break,
                Err(status) => {
                    tracing::debug!(%worker, %status, "stream ended");
                    break;
                }
            }
        }
        // The driver may be gone at the end of a run.
        let _ = self.inbound.send(Inbound::Closed { worker, connection }).await;
    }
}

#[tonic::async_trait]
impl Workers for WorkerService {
    type SessionStream = ReceiverStream<Result<v1::MasterFrame, Status>>;
    type FetchStream = ReceiverStream<Result<v1::Chunk, Status>>;

    async fn session(
        &self,
        request: Request<Streaming<v1::WorkerFrame>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let mut frames = request.into_inner();
        let first = tokio::time::timeout(HELLO_DEADLINE, frames.message()).await;
        let first = first.map_err(|_| Status::deadline_exceeded("no hello within 10 s"))??;
        let Some(v1::worker_frame::Body::Hello(hello)) = first.and_then(|frame| frame.body) else {
            return Err(Status::invalid_argument("the first frame of a session is a hello"));
        };
        let connection = ConnectionId(self.connections.fetch_add(1, Ordering::Relaxed) + 1);
        let (outbound, receiver) = mpsc::channel(OUTBOUND_FRAMES);
        if hello.worker.is_empty() || hello.protocol != compass_proto::PROTOCOL_VERSION {
            let reason = format!(
                "worker {:?} speaks protocol {}, this master speaks {}; install the same version on both sides",
                hello.worker,
                hello.protocol,
                compass_proto::PROTOCOL_VERSION
            );
            tracing::warn!(reason, "refused a worker");
            let body = Some(v1::master_frame::Body::Refused(v1::Refused { reason }));
            let _ = outbound.send(Ok(v1::MasterFrame { body, ..Default::default() })).await;
            return Ok(Response::new(ReceiverStream::new(receiver)));
        }
        let worker = WorkerId(hello.worker.clone());
        let gone = |_| Status::unavailable("the run is over");
        self.inbound.send(Inbound::Hello { connection, hello, outbound }).await.map_err(gone)?;
        tokio::spawn(self.clone().forward(worker, connection, frames));
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn fetch(&self, request: Request<v1::FetchRequest>) -> Result<Response<Self::FetchStream>, Status> {
        let digest = digest_from_wire(&request.into_inner().digest);
        let digest = digest.map_err(|error| Status::invalid_argument(error.to_string()))?;
        Ok(Response::new(self.files.stream(digest).await?))
    }

    async fn upload(&self, request: Request<Streaming<v1::UploadChunk>>) -> Result<Response<v1::UploadReply>, Status> {
        const MAX_UPLOAD: usize = 64 * 1024 * 1024;
        let mut chunks = request.into_inner();
        let (mut digest, mut bytes) = (None, Vec::new());
        while let Some(chunk) = chunks.message().await? {
            if !chunk.digest.is_empty() {
                let parsed = digest_from_wire(&chunk.digest);
                digest = Some(parsed.map_err(|error| Status::invalid_argument(error.to_string()))?);
            }
            if bytes.len() + chunk.data.len() > MAX_UPLOAD {
                return Err(Status::out_of_range("an upload is at most 64 MiB"));
            }
            bytes.extend_from_slice(&chunk.data);
        }
        let digest = digest.ok_or_else(|| Status::invalid_argument("an upload names its digest"))?;
        self.uploads.put(digest, bytes)?;
        Ok(Response::new(v1::UploadReply {}))
    }
}

/// Serves until `stop` turns true.
///
/// # Errors
/// Those of the transport.
pub async fn serve(
    listener: TcpListener,
    service: WorkerService,
    mut stop: watch::Receiver<bool>,
) -> Result<(), tonic::transport::Error> {
    let workers = WorkersServer::new(service).max_decoding_message_size(MAX_FRAME_BYTES);
    tonic::transport::Server::builder()
        .http2_keepalive_interval(Some(Duration::from_secs(20)))
        .http2_keepalive_timeout(Some(Duration::from_secs(10)))
        .add_service(workers)
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), async move {
            raised(&mut stop).await;
        })
        .await
}
