//! A fake master on a loopback port without decisions of its own.

use super::plan::TestPlan;
use compass_proto::v1::workers_server::{Workers, WorkersServer};
use compass_proto::{CHUNK_BYTES, Envelope as _, MAX_FRAME_BYTES, PROTOCOL_VERSION, spill, unspill, v1};
use compass_types::ids::Digest;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{Request, Response, Status, Streaming};
use v1::master_frame::Body;

/// Longest time that a test waits for an expected event.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone)]
struct Service {
    sessions: mpsc::Sender<Session>,
    files: Arc<BTreeMap<Digest, Vec<u8>>>,
    uploads: Uploads,
    spills: Spills,
    no_room: Arc<AtomicUsize>,
    fetched: Arc<AtomicUsize>,
}

/// Uploads of workers with their connection, in order.
type Uploads = Arc<Mutex<Vec<(v1::UploadChunk, Vec<u8>)>>>;
/// Bodies of the master that did not fit into their frames.
type Spills = Arc<Mutex<BTreeMap<Digest, Vec<u8>>>>;

/// A listening master; stops with the test.
pub(crate) struct FakeMaster {
    pub(crate) address: String,
    sessions: mpsc::Receiver<Session>,
    pub(crate) uploads: Uploads,
    /// Number of further uploads to reject for lack of room.
    pub(crate) no_room: Arc<AtomicUsize>,
    /// Number of files that were fetched completely.
    pub(crate) fetched: Arc<AtomicUsize>,
    server: tokio::task::JoinHandle<()>,
}

/// One stream of a worker.
pub(crate) struct Session {
    pub(crate) hello: v1::Hello,
    frames: mpsc::Receiver<v1::WorkerFrame>,
    outbound: mpsc::Sender<Result<v1::MasterFrame, Status>>,
    spills: Spills,
    seq: u64,
}

/// Settings of a welcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WelcomeTerms {
    pub(crate) epoch: u64,
    pub(crate) last_ack: u64,
    pub(crate) lease_ttl_ms: u32,
    pub(crate) offline_continue: bool,
    pub(crate) engine_timeout_ms: u32,
}

impl Default for WelcomeTerms {
    fn default() -> Self {
        Self { epoch: 1, last_ack: 0, lease_ttl_ms: 30_000, offline_continue: false, engine_timeout_ms: 0 }
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
        let (uploads, no_room) = (Uploads::default(), Arc::<AtomicUsize>::default());
        let fetched = Arc::<AtomicUsize>::default();
        let (files, counted) = (Arc::new(plan.files.clone()), fetched.clone());
        let service = Service {
            sessions: sender,
            files,
            uploads: uploads.clone(),
            spills: Spills::default(),
            no_room: no_room.clone(),
            fetched: counted,
        };
        let server = tonic::transport::Server::builder()
            .add_service(WorkersServer::new(service).max_decoding_message_size(MAX_FRAME_BYTES));
        let server = tokio::spawn(async move {
            server.serve_with_incoming(TcpListenerStream::new(listener)).await.unwrap();
        });
        Self { address, sessions, uploads, no_room, fetched, server }
    }

    /// Waits for the next worker's hello.
    pub(crate) async fn session(&mut self) -> Session {
        tokio::time::timeout(TIMEOUT, self.sessions.recv()).await.expect("no worker connected").unwrap()
    }

    /// Stops the master; another may listen on its port.
    pub(crate) async fn stop(self) {
        self.server.abort();
        let _ = self.server.await;
    }
}

impl Session {
    /// Returns everything that the hello listed, under its own name.
    pub(crate) fn kept(&self) -> Vec<v1::KeptGrant> {
        self.hello.held.iter().map(kept_as_it_is).collect()
    }

    pub(crate) async fn welcome(&mut self, plan: &TestPlan, terms: WelcomeTerms) {
        self.welcome_keeping(plan, terms, self.kept()).await;
    }

    pub(crate) async fn welcome_keeping(&mut self, plan: &TestPlan, terms: WelcomeTerms, kept: Vec<v1::KeptGrant>) {
        let welcome = v1::Welcome {
            epoch: terms.epoch,
            plan: plan.digest.0.to_vec(),
            lease_ttl_ms: terms.lease_ttl_ms,
            heartbeat_ms: 100,
            last_ack: terms.last_ack,
            max_slots: 0,
            kept,
            offline_continue: terms.offline_continue,
            engine_timeout_ms: terms.engine_timeout_ms,
            protocol: PROTOCOL_VERSION,
            ..v1::Welcome::default()
        };
        self.send_unsequenced(terms.last_ack, Some(Body::Welcome(welcome))).await;
    }

    /// Grants samples `first..end` of the only unit.
    pub(crate) async fn grant(&mut self, plan: &TestPlan, task: u32, attempt: u32, first: u32, end: u32) {
        let samples = vec![v1::Interval { first, end }];
        let plan = plan.digest.0.to_vec();
        let proof = proof(1, task, attempt);
        let grant = v1::Grant {
            id: Some(v1::GrantId { epoch: 1, task, attempt }),
            unit: 0,
            samples,
            plan,
            proof,
            slots: 0,
            suspects: Vec::new(),
            drawn: Vec::new(),
        };
        self.send(Body::Grant(grant)).await;
    }

    /// Number of the last frame that was sent in order.
    pub(crate) fn last_sent(&self) -> u64 {
        self.seq
    }

    pub(crate) async fn send(&mut self, body: Body) {
        self.seq += 1;
        let frame = self.spilled(v1::MasterFrame { seq: self.seq, ack: 0, body: Some(body) });
        // The worker may have exited: then missing results will show.
        let _ = self.outbound.send(Ok(frame)).await;
    }

    pub(crate) async fn send_unsequenced(&mut self, ack: u64, body: Option<Body>) {
        let frame = self.spilled(v1::MasterFrame { seq: 0, ack, body });
        let _ = self.outbound.send(Ok(frame)).await;
    }

    fn spilled(&self, frame: v1::MasterFrame) -> v1::MasterFrame {
        let (frame, content) = spill(frame);
        self.spills.lock().unwrap().extend(content.map(|content| (content.digest, content.bytes)));
        frame
    }

    /// Rejects the worker's frame `seq`.
    pub(crate) async fn reject(self, seq: u64, reason: &str) {
        let rejected = v1::Rejected { seq, reason: reason.into() };
        let _ = self.outbound.send(Ok(v1::MasterFrame { seq: 0, ack: 0, body: Some(Body::Rejected(rejected)) })).await;
    }

    /// Waits for the worker's next frame; `None` if the stream has ended.
    pub(crate) async fn frame(&mut self) -> Option<v1::WorkerFrame> {
        tokio::time::timeout(TIMEOUT, self.frames.recv()).await.expect("the worker is silent")
    }
}

/// Returns a fake proof of a grant.
pub(crate) fn proof(epoch: u64, task: u32, attempt: u32) -> Vec<u8> {
    format!("proof of {epoch}/{task}/{attempt}").into_bytes()
}

/// Returns a frame with its own body, which must have been uploaded before.
fn whole(uploads: &Uploads, frame: v1::WorkerFrame) -> v1::WorkerFrame {
    let Some(spilled) = frame.spilled() else { return frame };
    let uploads = uploads.lock().unwrap();
    let found = uploads.iter().rev().find(|(first, _)| first.digest == spilled.digest);
    let (_, bytes) = found.expect("named before it was uploaded");
    unspill(frame, bytes).unwrap()
}

fn kept_as_it_is(held: &v1::HeldGrant) -> v1::KeptGrant {
    v1::KeptGrant { held: held.id, now: Some(held.clone()) }
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
        let first = inbound.message().await?.and_then(|frame| whole(&self.uploads, frame).body);
        let Some(v1::worker_frame::Body::Hello(hello)) = first else {
            return Err(Status::invalid_argument("no hello"));
        };
        let (outbound, outbound_receiver) = mpsc::channel(64);
        let (sender, frames) = mpsc::channel(64);
        let uploads = self.uploads.clone();
        tokio::spawn(async move {
            while let Ok(Some(frame)) = inbound.message().await {
                if sender.send(whole(&uploads, frame)).await.is_err() {
                    return;
                }
            }
        });
        let session = Session { hello, frames, outbound, spills: self.spills.clone(), seq: 0 };
        self.sessions.send(session).await.map_err(|_| Status::unavailable("the test is over"))?;
        Ok(Response::new(ReceiverStream::new(outbound_receiver)))
    }

    async fn fetch(&self, request: Request<v1::FetchRequest>) -> Result<Response<Self::FetchStream>, Status> {
        let digest = Digest(request.into_inner().digest.try_into().map_err(|_| Status::invalid_argument("digest"))?);
        let spilled = self.spills.lock().unwrap().remove(&digest);
        let bytes = spilled.or_else(|| self.files.get(&digest).cloned());
        let bytes = bytes.ok_or_else(|| Status::not_found("no such file"))?;
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
        let first = chunks.message().await?.unwrap();
        let full = |left: usize| left.checked_sub(1);
        if self.no_room.fetch_update(Ordering::SeqCst, Ordering::SeqCst, full).is_ok() {
            return Err(Status::resource_exhausted("try again later"));
        }
        let mut bytes = first.data.clone();
        while let Some(chunk) = chunks.message().await? {
            bytes.extend(chunk.data);
        }
        assert_eq!((Digest::of(&bytes).0.as_slice(), bytes.len() as u64), (first.digest.as_slice(), first.length));
        self.uploads.lock().unwrap().push((first, bytes));
        Ok(Response::new(v1::UploadReply {}))
    }
}
