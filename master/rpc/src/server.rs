//! The gRPC service and the connections behind it.

use super::accept::{Access, connections};
use super::bulk::{Chunks, PlanFiles, in_chunks};
use super::connection_slots::Bounds;
use super::enrolment::EnrolmentService;
use super::frames::{Frames, first_frame, forward, uploader};
use super::inbound::Inbound;
use super::parse::misfit;
use super::peer::{AuthInterceptor, Peer, PeerIdentity};
use super::refusals::Refusals;
use super::session::refusal;
use super::spills::Spills;
use super::uploads::{KEPT, UploadError, Uploader, Uploads};
use super::worker_router::{Answer, WorkerRouter};
use compass_authority::{AuthorityError, now};
use compass_proto::v1::workers_server::{Workers, WorkersServer};
use compass_proto::{MAX_FRAME_BYTES, Protocols, digest_from_wire, v1};
use compass_scheduler::ConnectionId;
use compass_types::ids::WorkerId;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tokio_util::sync::CancellationToken;
use tonic::service::interceptor::InterceptedService;
use tonic::{Request, Response, Status, Streaming};
use tracing::Instrument as _;

/// Frames that wait for one worker's connection; a worker that is slower is cut off and may come back.
const OUTBOUND_FRAMES: usize = 1024;
const HELLO_DEADLINE: Duration = Duration::from_secs(10);
/// Interval at which an idle worker is told that it is to wait.
const WAIT_EVERY: Duration = Duration::from_secs(2);

/// gRPC service of sessions, fetches and uploads.
#[derive(Clone, Debug)]
pub struct WorkerService {
    router: Arc<dyn WorkerRouter>,
    files: PlanFiles,
    uploads: Uploads,
    spills: Spills,
    connections: Arc<AtomicU64>,
    /// The pools that there are; none where workers may call theirs what they like.
    pools: Arc<[String]>,
    /// Decides which peers are let in; without it, all that reach the service.
    interceptor: Option<AuthInterceptor>,
}

impl WorkerService {
    /// A service whose workers come to this router. While those who take them in are busy, workers wait.
    pub fn new(router: Arc<dyn WorkerRouter>, files: PlanFiles, uploads: Uploads) -> Self {
        let (spills, connections, pools) = (Spills::default(), Arc::default(), Arc::default());
        Self { router, files, uploads, spills, connections, pools, interceptor: None }
    }

    /// The same service for workers of these pools, or of none in particular.
    #[must_use]
    pub fn of_pools(self, pools: impl IntoIterator<Item = String>) -> Self {
        Self { pools: pools.into_iter().collect(), ..self }
    }

    /// Checks that this master has the pool; a worker may name none, and a master without a list takes all.
    fn knows(&self, pool: &str) -> Result<(), Status> {
        if pool.is_empty() || self.pools.is_empty() || self.pools.iter().any(|known| known == pool) {
            return Ok(());
        }
        let all = self.pools.join(", ");
        Err(Status::permission_denied(format!(
            "it works for pool {pool}, which this master does not have; there are {all}"
        )))
    }

    /// The pool of a session, if its name and the pool that it says are its peer's own. Else the screen says so, once.
    fn place(&self, peer: &Peer, hello: &v1::Hello) -> Result<String, Status> {
        let authority = self.interceptor.as_ref().and_then(|interceptor| interceptor.authority.as_deref());
        let named = peer.identity.may_be(&hello.worker);
        let placed = named.and_then(|()| peer.identity.pool(authority, &hello.pool));
        placed.and_then(|pool| self.knows(&pool).map(|()| pool)).inspect_err(|status| {
            if let Some(interceptor) = &self.interceptor {
                interceptor.refusals.tell(peer.address, status.message());
            }
        })
    }

    /// A session while its peer may have one.
    async fn admit(
        self,
        identity: Option<PeerIdentity>,
        connection: ConnectionId,
        hello: v1::Hello,
        pending: PendingSession,
    ) {
        let (worker, outbound) = (WorkerId(hello.worker.clone()), pending.outbound.downgrade());
        // Alive as long as the session, whichever side ends it.
        let (held, mut left) = mpsc::channel::<()>(1);
        let (unwelcome_service, attending) = (self.clone(), self.attend(connection, hello, pending, held));
        let mut attending = std::pin::pin!(attending);
        tokio::select! {
            () = &mut attending => {}
            status = unwelcome_service.unwelcome(identity) => {
                tracing::info!(%worker, %status, "a session ends");
                if let Some(outbound) = outbound.upgrade() {
                    let _ = outbound.try_send(Err(status));
                }
                left.close();
                attending.await;
            }
        }
    }

    /// Returns when the peer of a session may work no longer, and why: it was revoked, or its certificate has expired.
    async fn unwelcome(&self, identity: Option<PeerIdentity>) -> Status {
        let (Some(identity), Some(interceptor)) = (identity, &self.interceptor) else {
            return std::future::pending().await;
        };
        let (PeerIdentity::Worker { certified, .. }, Some(authority)) = (&identity, &interceptor.authority) else {
            return std::future::pending().await;
        };
        let mut changes = authority.changes();
        loop {
            if let Err(status) = identity.admitted(Some(authority)) {
                return status;
            }
            let left = Duration::from_secs(certified.until.saturating_sub(now()).max(1));
            // The clock of the wall may be set meanwhile: it is looked at again.
            let _ = tokio::time::timeout(left, changes.changed()).await;
        }
    }

    /// A worker from its hello to the end of its stream, or until the receiver of `held` is dropped.
    async fn attend(self, connection: ConnectionId, hello: v1::Hello, pending: PendingSession, held: mpsc::Sender<()>) {
        let PendingSession { outbound, mut frames } = pending;
        let worker = WorkerId(hello.worker.clone());
        let (uploader, dial) = (uploader(&hello), hello.dial);
        let answer = self.router.arrive(connection, &hello);
        let answer = wait_at_the_door(answer, &outbound, &mut frames).await;
        let farewell = match &answer {
            Some(Answer::Refused(reason)) => {
                tracing::warn!(%worker, reason, "refused a worker");
                Some(v1::master_frame::Body::Refused(v1::Refused { reason: reason.clone() }))
            }
            Some(Answer::Shutdown(reason)) => {
                Some(v1::master_frame::Body::Shutdown(v1::Shutdown { reason: (*reason).to_owned() }))
            }
            _ => None,
        };
        if farewell.is_some() {
            let _ = outbound.try_send(Ok(v1::MasterFrame { body: farewell, ..Default::default() }));
        }
        if let Some(Answer::TakenIn(inbound)) = answer
            && inbound.send(Inbound::Hello { connection, hello, outbound }).await.is_ok()
        {
            tokio::select! {
                () = forward(&self.uploads, &inbound, &uploader, connection, &mut frames) => {}
                () = held.closed() => {}
            }
            // First of all, so that it is taken in when it comes again at once.
            self.router.left(&worker, connection);
            // The driver may be gone at the end of a run.
            let _ = inbound.send(Inbound::Closed { worker: worker.clone(), connection }).await;
        } else {
            self.router.left(&worker, connection);
        }
        self.uploads.session_ended(&uploader, dial);
    }
}

/// The two ways of a session.
struct PendingSession {
    outbound: Outbound,
    frames: Frames,
}

type Outbound = mpsc::Sender<Result<v1::MasterFrame, Status>>;

/// Until it is known what becomes of the worker; `None` when it goes away.
async fn wait_at_the_door(
    mut answer: oneshot::Receiver<Answer>,
    outbound: &Outbound,
    frames: &mut Frames,
) -> Option<Answer> {
    let mut wait = tokio::time::interval(WAIT_EVERY);
    loop {
        tokio::select! {
            biased;
            answered = &mut answer => return answered.ok(),
            // Nothing is said before the welcome.
            frame = frames.message() => if !matches!(frame, Ok(Some(_))) { return None },
            _ = wait.tick() => {
                let body = Some(v1::master_frame::Body::Wait(v1::Wait {}));
                // One that does not read what it is told is cut off.
                outbound.try_send(Ok(v1::MasterFrame { body, ..Default::default() })).ok()?;
            }
        }
    }
}

#[tonic::async_trait]
impl Workers for WorkerService {
    type SessionStream = Pin<Box<dyn Stream<Item = Result<v1::MasterFrame, Status>> + Send>>;
    type FetchStream = Chunks;

    async fn session(
        &self,
        request: Request<Streaming<v1::WorkerFrame>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let peer = request.extensions().get::<Peer>().cloned();
        let mut frames = request.into_inner();
        let first = tokio::time::timeout(HELLO_DEADLINE, first_frame(&self.uploads, peer.as_ref(), &mut frames)).await;
        let first = first.map_err(|_| Status::deadline_exceeded("no hello within 10 s"))??;
        let Some(v1::worker_frame::Body::Hello(mut hello)) = first.and_then(|frame| frame.body) else {
            return Err(Status::invalid_argument("the first frame of a session is a hello"));
        };
        let connection = ConnectionId(self.connections.fetch_add(1, Ordering::Relaxed) + 1);
        let (outbound, receiver) = mpsc::channel(OUTBOUND_FRAMES);
        let spills = self.spills.of(connection);
        let leaving = ReceiverStream::new(receiver)
            .map(move |frame: Result<_, Status>| frame.map(|frame| spills.outgoing(frame)));
        let leaving: Self::SessionStream = Box::pin(leaving);
        let protocols = Protocols::from(&hello);
        if Protocols::OURS.common(protocols).is_none() {
            let reason = Protocols::refusal_of(protocols);
            tracing::warn!(worker = hello.worker, reason, "refused a worker");
            let body = Some(v1::master_frame::Body::Refused(v1::Refused { reason }));
            let _ = outbound.send(Ok(v1::MasterFrame { body, ..Default::default() })).await;
            return Ok(Response::new(leaving));
        }
        if let Some(reason) = misfit(&hello) {
            tracing::warn!(worker = hello.worker, reason, "refused a worker");
            // One that cannot even take this frame is cut off all the same, since its connection is not kept.
            let _ = outbound.try_send(Ok(refusal(reason)));
            return Ok(Response::new(leaving));
        }
        if let Some(peer) = &peer {
            hello.pool = self.place(peer, &hello)?;
        }
        let identity = peer.map(|peer| peer.identity);
        let span = tracing::info_span!("session", worker = hello.worker, connection = connection.0);
        let session = self.clone().admit(identity, connection, hello, PendingSession { outbound, frames });
        tokio::spawn(session.instrument(span));
        Ok(Response::new(leaving))
    }

    async fn fetch(&self, request: Request<v1::FetchRequest>) -> Result<Response<Self::FetchStream>, Status> {
        let digest = digest_from_wire(&request.into_inner().digest);
        let digest = digest.map_err(|error| Status::invalid_argument(error.to_string()))?;
        if let Some((connection, bytes)) = self.spills.find(&digest) {
            let spills = self.spills.clone();
            return Ok(Response::new(in_chunks(bytes, move || spills.fetched(digest, connection))));
        }
        Ok(Response::new(self.files.stream(digest).await?))
    }

    async fn upload(&self, request: Request<Streaming<v1::UploadChunk>>) -> Result<Response<v1::UploadReply>, Status> {
        let peer = request.extensions().get::<Peer>().cloned();
        let mut chunks = request.into_inner();
        let Some(first) = chunks.message().await? else {
            return Err(Status::invalid_argument("an upload begins with its digest"));
        };
        let digest = digest_from_wire(&first.digest).map_err(|error| Status::invalid_argument(error.to_string()))?;
        if let Some(peer) = &peer {
            peer.identity.may_be(&first.worker)?;
        }
        let from = Uploader { worker: first.worker, session: first.session };
        let room = self.uploads.reserve(&from, first.dial, digest, first.length, Instant::now())?;
        let mut bytes = first.data;
        while let Some(chunk) = chunks.message().await? {
            bytes.extend_from_slice(&chunk.data);
            if bytes.len() as u64 > first.length {
                return Err(UploadError::Damaged.into());
            }
            room.goes_on(Instant::now());
        }
        room.fill(bytes, Instant::now())?;
        Ok(Response::new(v1::UploadReply {}))
    }
}

/// Frees, as long as it is polled, uploads whose frames do not come.
async fn expire(uploads: Uploads) {
    let mut again = tokio::time::interval(KEPT / 6);
    loop {
        again.tick().await;
        uploads.expire(Instant::now());
    }
}

/// Reason for which the service ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the transport failed")]
    Transport(#[from] tonic::transport::Error),
    #[error("the services cannot be described")]
    Reflection(#[from] tonic_reflection::server::Error),
    #[error(transparent)]
    Authority(#[from] AuthorityError),
}

/// Requests under way on one connection: a session, fetches, uploads.
const STREAMS: u32 = 64;
/// Largest header list of a request, in bytes.
const HEADERS: u32 = 16 * 1024;

/// A server with the bounds that every port of a master has.
pub fn bounded_server() -> tonic::transport::Server {
    tonic::transport::Server::builder()
        .http2_keepalive_interval(Some(Duration::from_secs(20)))
        .http2_keepalive_timeout(Some(Duration::from_secs(10)))
        .max_concurrent_streams(STREAMS)
        .http2_max_header_list_size(HEADERS)
}

/// Serves until `stop` is cancelled. Behind a guarded access, unauthenticated peers reach nothing but enrolment.
///
/// # Errors
/// See [`ServeError`].
pub async fn serve(
    listener: TcpListener,
    access: Access,
    mut service: WorkerService,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    let interceptor = AuthInterceptor { authority: access.authority(), refusals: Refusals::default() };
    service.interceptor = Some(interceptor.clone());
    let expiring = expire(service.uploads.clone());
    let workers = WorkersServer::new(service).max_decoding_message_size(MAX_FRAME_BYTES);
    // What `grpc_health_probe` and `grpcurl` ask; neither tells anything of a run.
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<WorkersServer<WorkerService>>().await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(compass_proto::FILE_DESCRIPTOR_SET)
        .build_v1()?;
    let (incoming, accepting) = connections(listener, access, Bounds::default(), interceptor.refusals.clone())?;
    let serving = bounded_server()
        .add_service(InterceptedService::new(workers, interceptor.clone()))
        .add_service(InterceptedService::new(health_service, interceptor.clone()))
        .add_service(InterceptedService::new(reflection, interceptor.clone()))
        .add_service(EnrolmentService::server(interceptor))
        .serve_with_incoming_shutdown(incoming, stop.cancelled_owned());
    tokio::select! {
        done = serving => done?,
        () = accepting => {}
        () = expiring => {}
    }
    Ok(())
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
