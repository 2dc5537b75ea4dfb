//! The master's side of the wire, on a loopback port, deciding nothing.

use super::plan::TestPlan;
use compass_common::ids::Digest;
use compass_proto::v1::workers_server::{Workers, WorkersServer};
use compass_proto::{CHUNK_BYTES, MAX_FRAME_BYTES, v1};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{Request, Response, Status, Streaming};
use v1::master_frame::Body;

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone)]
struct Service {
    sessions: mpsc::Sender<Session>,
    files: Arc<BTreeMap<Digest, Vec<u8>>>,
    uploads: Arc<Mutex<BTreeMap<Digest, Vec<u8>>>>,
    fetched: Arc<AtomicUsize>,
}

/// A listening master; ends with the test.
pub(crate) struct FakeMaster {
    pub(crate) address: String,
    sessions: mpsc::Receiver<Session>,
    pub(crate) uploads: Arc<Mutex<BTreeMap<Digest, Vec<u8>>>>,
    /// Files that went out whole.
    pub(crate) fetched: Arc<AtomicUsize>,
    server: tokio::task::JoinHandle<()>,
}

/// One stream of a worker.
pub(crate) struct Session {
    pub(crate) hello: v1::Hello,
    frames: mpsc::Receiver<v1::WorkerFrame>,
    outbound: mpsc::Sender<Result<v1::MasterFrame, Status>>,
    seq: u64,
}

/// What a welcome says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) epoch: u64,
    pub(crate) last_ack: u64,
    pub(crate) lease_ttl_ms: u32,
    pub(crate) offline_continue: bool,
}

impl Default for Terms {
    fn default() -> Self {
        Self { epoch: 1, last_ack: 0, lease_ttl_ms: 30_000, offline_continue: false }
    }
}

impl FakeMaster {
    pub(crate) async fn start(plan: &TestPlan) -> Self {
        Self::start_at(plan, "127.0.0.1:0").await
    }

    pub(crate) async fn start_at(plan: &TestPlan, address: &str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, sessions) = mpsc::channel(8);
        let uploads = Arc::default();
        let fetched = Arc::<AtomicUsize>::default();
        let (files, counted) = (Arc::new(plan.files.clone()), fetched.clone());
        let service = Service { sessions: sender, files, uploads: Arc::clone(&uploads), fetched: counted };
        let server = tonic::transport::Server::builder()
            .add_service(WorkersServer::new(service).max_decoding_message_size(MAX_FRAME_BYTES));
        let server = tokio::spawn(async move {
            server.serve_with_incoming(TcpListenerStream::new(listener)).await.unwrap();
        });
        Self { address, sessions, uploads, fetched, server }
    }

    /// The next worker that says hello.
    pub(crate) async fn session(&mut self) -> Session {
        tokio::time::timeout(PATIENCE, self.sessions.recv()).await.expect("no worker came").unwrap()
    }

    /// Takes the master away; another may listen in its place.
    pub(crate) async fn stop(self) {
        self.server.abort();
        let _ = self.server.await;
    }
}

impl Session {
    /// Everything that the hello listed, under its own name.
    pub(crate) fn kept(&self) -> Vec<v1::KeptGrant> {
        self.hello.held.iter().map(kept_as_it_is).collect()
    }

    pub(crate) async fn welcome(&mut self, plan: &TestPlan, terms: Terms) {
        self.welcome_keeping(plan, terms, self.kept()).await;
    }

    pub(crate) async fn welcome_keeping(&mut self, plan: &TestPlan, terms: Terms, kept: Vec<v1::KeptGrant>) {
        let welcome = v1::Welcome {
            epoch: terms.epoch,
            plan: plan.digest.0.to_vec(),
            lease_ttl_ms: terms.lease_ttl_ms,
            heartbeat_ms: 100,
            last_ack: terms.last_ack,
            max_slots: 0,
            kept,
            offline_continue: terms.offline_continue,
            ..v1::Welcome::default()
        };
        self.send_unsequenced(terms.last_ack, Some(Body::Welcome(welcome))).await;
    }

    /// Grants samples `first..end` of the only unit.
    pub(crate) async fn grant(&mut self, plan: &TestPlan, task: u32, attempt: u32, first: u32, end: u32) {
        let samples = vec![v1::Interval { first, end }];
        let plan = plan.digest.0.to_vec();
        self.send(Body::Grant(v1::Grant { epoch: 1, task, attempt, unit: 0, samples, plan })).await;
    }

    pub(crate) async fn send(&mut self, body: Body) {
        self.seq += 1;
        let frame = v1::MasterFrame { seq: self.seq, ack: 0, body: Some(body) };
        // The worker may be gone: then what it did not do will show.
        let _ = self.outbound.send(Ok(frame)).await;
    }

    pub(crate) async fn send_unsequenced(&mut self, ack: u64, body: Option<Body>) {
        let _ = self.outbound.send(Ok(v1::MasterFrame { seq: 0, ack, body })).await;
    }

    /// The worker's next frame; `None` when the stream has ended.
    pub(crate) async fn frame(&mut self) -> Option<v1::WorkerFrame> {
        tokio::time::timeout(PATIENCE, self.frames.recv()).await.expect("the worker is silent")
    }
}

fn kept_as_it_is(held: &v1::HeldGrant) -> v1::KeptGrant {
    let (held_epoch, held_task, held_attempt) = (held.epoch, held.task, held.attempt);
    v1::KeptGrant { held_epoch, held_task, held_attempt, now: Some(held.clone()) }
}

#[tonic::async_trait]
impl Workers for Service {
    type SessionStream = ReceiverStream<Result<v1::MasterFrame, Status>>;
    type FetchStream = ReceiverStream<Result<v1::Chunk, Status>>;

    async fn session(
        &self,
        request: Request<Streaming<v1::WorkerFrame>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let mut inbound = request.into_inner();
        let first = inbound.message().await?.and_then(|frame| frame.body);
        let Some(v1::worker_frame::Body::Hello(hello)) = first else {
            return Err(Status::invalid_argument("no hello"));
        };
        let (outbound, outbound_receiver) = mpsc::channel(64);
        let (sender, frames) = mpsc::channel(64);
        tokio::spawn(async move {
            while let Ok(Some(frame)) = inbound.message().await {
                if sender.send(frame).await.is_err() {
                    return;
                }
            }
        });
        let session = Session { hello, frames, outbound, seq: 0 };
        self.sessions.send(session).await.map_err(|_| Status::unavailable("the test is over"))?;
        Ok(Response::new(ReceiverStream::new(outbound_receiver)))
    }

    async fn fetch(&self, request: Request<v1::FetchRequest>) -> Result<Response<Self::FetchStream>, Status> {
        let digest = Digest(request.into_inner().digest.try_into().map_err(|_| Status::invalid_argument("digest"))?);
        let bytes = self.files.get(&digest).cloned().ok_or_else(|| Status::not_found("no such file"))?;
        let (sender, receiver) = mpsc::channel(4);
        let fetched = self.fetched.clone();
        tokio::spawn(async move {
            for chunk in bytes.chunks(CHUNK_BYTES) {
                if sender.send(Ok(v1::Chunk { data: chunk.to_vec() })).await.is_err() {
                    return;
                }
            }
            fetched.fetch_add(1, Ordering::SeqCst);
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn upload(&self, request: Request<Streaming<v1::UploadChunk>>) -> Result<Response<v1::UploadReply>, Status> {
        let mut chunks = request.into_inner();
        let (mut digest, mut bytes) = (Vec::new(), Vec::new());
        while let Some(chunk) = chunks.message().await? {
            digest.extend(chunk.digest);
            bytes.extend(chunk.data);
        }
        let digest = Digest(digest.try_into().map_err(|_| Status::invalid_argument("digest"))?);
        assert_eq!(Digest::of(&bytes), digest);
        self.uploads.lock().unwrap().insert(digest, bytes);
        Ok(Response::new(v1::UploadReply {}))
    }
}
