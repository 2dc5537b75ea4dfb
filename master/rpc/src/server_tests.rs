//! The port as workers see it: what answers, and how bodies travel that no frame holds.

use super::*;
use crate::Parsed;
use compass_proto::v1::workers_client::WorkersClient;
use compass_proto::{CHUNK_BYTES, Envelope as _, PROTOCOL_VERSION, Spill, spill, unspill};
use compass_types::ids::ModelId;
use std::collections::BTreeMap;
use tokio_util::sync::DropGuard;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

/// Takes in every worker.
#[derive(Debug)]
struct Everyone(mpsc::Sender<Inbound>);

impl WorkerRouter for Everyone {
    fn arrive(&self, _: ConnectionId, _: &v1::Hello) -> oneshot::Receiver<Answer> {
        let (answer, answered) = oneshot::channel();
        // The receiver is in the next line.
        let _ = answer.send(Answer::TakenIn(self.0.clone()));
        answered
    }

    fn left(&self, _: &WorkerId, _: ConnectionId) {}
}

#[tokio::test]
async fn health_and_reflection_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (inbound, _held) = mpsc::channel(1);
    let service = WorkerService::new(Arc::new(Everyone(inbound)), PlanFiles::new(BTreeMap::new()), Uploads::default());
    let stop = CancellationToken::new();
    let serving = tokio::spawn(serve(listener, Access::Open, service, stop.clone()));
    {
        let channel = tonic::transport::Endpoint::from_shared(url).unwrap().connect().await.unwrap();
        let request = HealthCheckRequest { service: "compass.v1.Workers".into() };
        let health = HealthClient::new(channel.clone()).check(request).await.unwrap();
        assert_eq!(health.into_inner().status, 1, "SERVING");
        let question = MessageRequest::ListServices(String::new());
        let request = ServerReflectionRequest { host: String::new(), message_request: Some(question) };
        let stream = tokio_stream::iter([request]);
        let mut answers =
            ServerReflectionClient::new(channel).server_reflection_info(stream).await.unwrap().into_inner();
        let answer = answers.message().await.unwrap().unwrap().message_response;
        let Some(MessageResponse::ListServicesResponse(list)) = answer else {
            unreachable!("asked for services, was told {answer:?}")
        };
        assert!(list.service.iter().any(|service| service.name == "compass.v1.Workers"), "{list:?}");
    }
    stop.cancel();
    serving.await.unwrap().unwrap();
}

/// A port whose uploads take a megabyte together, and what it tells the driver.
async fn port() -> (String, mpsc::Receiver<Inbound>, DropGuard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (inbound, heard) = mpsc::channel(8);
    let service =
        WorkerService::new(Arc::new(Everyone(inbound)), PlanFiles::new(BTreeMap::new()), Uploads::of(1 << 20));
    let stop = CancellationToken::new();
    tokio::spawn(serve(listener, Access::Open, service, stop.clone()));
    (url, heard, stop.drop_guard())
}

/// A worker that does what a test says.
struct Peer {
    name: &'static str,
    client: WorkersClient<Channel>,
}

/// Its stream.
struct Stream {
    up: mpsc::Sender<v1::WorkerFrame>,
    down: Streaming<v1::MasterFrame>,
}

impl Peer {
    async fn new(url: &str, name: &'static str) -> Self {
        let channel = Endpoint::from_shared(url.to_owned()).unwrap().connect().await.unwrap();
        Self { name, client: WorkersClient::new(channel).max_decoding_message_size(MAX_FRAME_BYTES) }
    }

    fn hello(&self) -> v1::Hello {
        let (worker, session) = (self.name.to_owned(), "s".to_owned());
        v1::Hello { protocol: PROTOCOL_VERSION, worker, session, slots: 1, dial: 1, first_seq: 1, ..Default::default() }
    }

    /// Opens a stream with this frame.
    async fn open(&mut self, first: v1::WorkerFrame) -> Result<Stream, Status> {
        let (up, frames) = mpsc::channel(4);
        up.send(first).await.unwrap();
        let down = self.client.session(ReceiverStream::new(frames)).await?.into_inner();
        Ok(Stream { up, down })
    }

    async fn upload(&mut self, content: &Spill) -> Result<(), Status> {
        let first = v1::UploadChunk {
            digest: content.digest.0.to_vec(),
            worker: self.name.into(),
            session: "s".into(),
            dial: 1,
            length: content.bytes.len() as u64,
            data: Vec::new(),
        };
        let chunk = |data: &[u8]| v1::UploadChunk { data: data.to_vec(), ..Default::default() };
        let chunks: Vec<_> = std::iter::once(first).chain(content.bytes.chunks(CHUNK_BYTES).map(chunk)).collect();
        self.client.upload(tokio_stream::iter(chunks)).await.map(drop)
    }
}

fn facts(kilobytes: usize) -> v1::WorkerFrame {
    let facts = v1::Facts { model: 3, facts: vec![7; kilobytes * 1024], load: None };
    v1::WorkerFrame { seq: 1, ack: 0, body: Some(v1::worker_frame::Body::Facts(facts)) }
}

fn with_hello(hello: v1::Hello) -> v1::WorkerFrame {
    v1::WorkerFrame { seq: 0, ack: 0, body: Some(v1::worker_frame::Body::Hello(hello)) }
}

async fn next(heard: &mut mpsc::Receiver<Inbound>) -> Inbound {
    heard.recv().await.expect("the port is open")
}

#[tokio::test]
async fn the_uploads_of_a_worker_that_left_make_room_for_those_that_wait() {
    let (url, mut heard, _stop) = port().await;
    let (mut leaves, mut stays) = (Peer::new(&url, "leaves").await, Peer::new(&url, "stays").await);
    let stream = leaves.open(with_hello(leaves.hello())).await.unwrap();
    let Inbound::Hello { outbound, .. } = next(&mut heard).await else { panic!() };
    let other = stays.open(with_hello(stays.hello())).await.unwrap();
    let Inbound::Hello { outbound: kept, connection, .. } = next(&mut heard).await else { panic!() };
    let (frame, content) = spill(facts(800));
    let content = content.unwrap();
    leaves.upload(&content).await.unwrap();
    let asked_to_wait = stays.upload(&content).await.unwrap_err();
    assert_eq!(asked_to_wait.code(), Code::ResourceExhausted, "{asked_to_wait}");
    drop((stream, outbound));
    let Inbound::Closed { .. } = next(&mut heard).await else { panic!() };
    while let Err(status) = stays.upload(&content).await {
        assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    }
    // Its frame comes with the body, and takes it: there is room again at once.
    other.up.send(frame).await.unwrap();
    let Inbound::Frame { frame, connection: from, .. } = next(&mut heard).await else { panic!() };
    let Ok(Parsed::Facts { model: ModelId(3), facts, load: None }) = frame.body else { panic!("{frame:?}") };
    assert_eq!((frame.seq, facts.len(), from), (1, 800 * 1024, connection));
    stays.upload(&content).await.unwrap();
    drop(kept);
}

#[tokio::test]
async fn a_frame_whose_upload_is_not_here_or_that_is_too_large_ends_its_connection() {
    let (url, mut heard, _stop) = port().await;
    let mut peer = Peer::new(&url, "w").await;
    let mut stream = peer.open(with_hello(peer.hello())).await.unwrap();
    let Inbound::Hello { outbound, .. } = next(&mut heard).await else { panic!() };
    stream.up.send(spill(facts(300)).0).await.unwrap();
    let Inbound::Closed { .. } = next(&mut heard).await else { panic!("it is no fault of the frame") };
    drop(outbound);
    assert!(stream.down.message().await.unwrap().is_none());
    let mut stream = peer.open(with_hello(peer.hello())).await.unwrap();
    let Inbound::Hello { outbound, .. } = next(&mut heard).await else { panic!() };
    stream.up.send(facts(300)).await.unwrap();
    let Inbound::Unreadable { reason, .. } = next(&mut heard).await else { panic!() };
    assert_eq!(reason, "a frame of more than 256 KiB");
    let Inbound::Closed { .. } = next(&mut heard).await else { panic!() };
    drop(outbound);
    assert!(stream.down.message().await.unwrap().is_none());
}

#[tokio::test]
async fn a_hello_and_a_welcome_longer_than_a_frame_arrive() {
    let (url, mut heard, _stop) = port().await;
    let mut peer = Peer::new(&url, "w").await;
    let samples: Vec<_> = (0..60_000).map(|at| v1::Interval { first: 2 * at, end: 2 * at + 1 }).collect();
    let held = v1::HeldGrant { samples, ..Default::default() };
    let hello = v1::Hello { held: vec![held.clone()], ..peer.hello() };
    let (first, content) = spill(with_hello(hello.clone()));
    assert_eq!(peer.open(first.clone()).await.map(drop).unwrap_err().code(), Code::Unavailable, "not uploaded yet");
    peer.upload(&content.unwrap()).await.unwrap();
    let mut stream = peer.open(first).await.unwrap();
    let Inbound::Hello { hello: arrived, outbound, .. } = next(&mut heard).await else { panic!() };
    assert_eq!(arrived, hello);
    let kept = vec![v1::KeptGrant { now: Some(held), ..Default::default() }];
    let welcome = Some(v1::master_frame::Body::Welcome(v1::Welcome { kept, ..Default::default() }));
    let welcome = v1::MasterFrame { seq: 0, ack: 0, body: welcome };
    outbound.send(Ok(welcome.clone())).await.unwrap();
    let frame = stream.down.message().await.unwrap().unwrap();
    let digest = frame.spilled().expect("too large for a frame").digest.clone();
    let fetched = async |client: &mut WorkersClient<Channel>| {
        let mut chunks = client.fetch(v1::FetchRequest { digest: digest.clone() }).await?.into_inner();
        let mut bytes = Vec::new();
        while let Some(chunk) = chunks.message().await? {
            bytes.extend(chunk.data);
        }
        Ok::<_, Status>(bytes)
    };
    let bytes = fetched(&mut peer.client).await.unwrap();
    assert_eq!(unspill(frame, &bytes).unwrap(), welcome);
    // It is not kept for longer than it is needed.
    while fetched(&mut peer.client).await.is_ok() {}
}
