//! The enrolment service: the only one that unauthenticated peers reach. Bounds how often they ask; what they get, the authority says.

use super::peer::{AuthInterceptor, PLAIN, Peer, PeerIdentity};
use super::rate::Rate;
use compass_authority::{Authority, AuthorityError, EnrolmentRequest};
use compass_proto::v1::enrolment_server::{Enrolment, EnrolmentServer};
use compass_proto::{Protocols, v1};
use compass_types::secret::Secret;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tonic::{Request, Response, Status};

/// Longest name of a worker, as its command line takes it.
const LONGEST_NAME: usize = 200;
/// Largest request: a name, a token.
const MOST_BYTES: usize = 4 * 1024;

/// Enrolment service, with bounds on how often unauthenticated peers may ask.
#[derive(Clone, Debug)]
pub(super) struct EnrolmentService {
    interceptor: AuthInterceptor,
    started: Instant,
    rate: Arc<Mutex<Rate>>,
}

impl EnrolmentService {
    pub(super) fn server(interceptor: AuthInterceptor) -> EnrolmentServer<Self> {
        let service = Self { interceptor, started: Instant::now(), rate: Arc::default() };
        EnrolmentServer::new(service).max_decoding_message_size(MOST_BYTES)
    }

    fn authority(&self) -> Result<&Arc<Authority>, Status> {
        let none = || Status::failed_precondition("this master listens on loopback: workers need no token");
        self.interceptor.authority.as_ref().ok_or_else(none)
    }

    fn may_ask(&self, peer: &Peer) -> Result<(), Status> {
        let now = self.started.elapsed().as_millis() as u64;
        match self.rate.lock().unwrap_or_else(PoisonError::into_inner).take(peer.address, now) {
            true => Ok(()),
            false => Err(Status::resource_exhausted("too many workers ask to be enrolled; try again")),
        }
    }

    fn answer(&self, authority: &Authority, chain: Vec<CertificateDer<'static>>) -> Response<v1::Enrolled> {
        let chain = chain.into_iter().map(|certificate| certificate.to_vec()).collect();
        Response::new(v1::Enrolled { chain, valid_seconds: authority.certificate_seconds() })
    }
}

fn unusable(error: &AuthorityError) -> Status {
    tracing::warn!(%error, "cannot enrol a worker");
    Status::unavailable("the master cannot reach its authority; try again")
}

#[tonic::async_trait]
impl Enrolment for EnrolmentService {
    async fn enrol(&self, request: Request<v1::EnrolRequest>) -> Result<Response<v1::Enrolled>, Status> {
        let peer = request.extensions().get::<Peer>().cloned();
        let peer = peer.ok_or_else(|| Status::internal("a connection without a peer"))?;
        let authority = self.authority()?;
        let certificate = match &peer.identity {
            PeerIdentity::Plain | PeerIdentity::Trusted => return Err(Status::unauthenticated(PLAIN)),
            PeerIdentity::Unauthenticated { certificate, .. } => certificate.clone(),
            PeerIdentity::Worker { certificate, .. } => Some(certificate.clone()),
        };
        self.may_ask(&peer)?;
        let request = request.into_inner();
        let protocols = Protocols::from(&request);
        let v1::EnrolRequest { worker, token_id, token_secret, pool, .. } = request;
        let secret = Secret::new(token_secret);
        if Protocols::OURS.common(protocols).is_none() {
            let why = Protocols::refusal_of(protocols);
            self.interceptor.refusals.tell(peer.address, &why);
            return Err(Status::permission_denied(why));
        }
        let is_no_name = |name: &str| name.len() > LONGEST_NAME * 4 || name.chars().any(char::is_control);
        if worker.is_empty() || is_no_name(&worker) || is_no_name(&pool) {
            return Err(Status::invalid_argument(
                "the names of a worker and of its pool are 1 to 200 visible characters",
            ));
        }
        let refused = |why: String| {
            self.interceptor.refusals.tell(peer.address, &why);
            Status::permission_denied(why)
        };
        if token_id.is_empty() {
            return Err(refused(compass_authority::Refusal::NoToken.to_string()));
        }
        let Some(certificate) = certificate else {
            return Err(Status::invalid_argument("a worker that enrols shows a certificate of its own"));
        };
        let enrolled =
            authority.enrol(&token_id, &secret, EnrolmentRequest { worker: &worker, pool: &pool }, &certificate).await;
        let chain = enrolled.map_err(|error| unusable(&error))?.map_err(|refusal| refused(refusal.to_string()))?;
        tracing::info!(worker, peer = %peer.address, token = token_id, "enrolled a worker");
        Ok(self.answer(authority, chain))
    }

    async fn renew(&self, request: Request<v1::RenewRequest>) -> Result<Response<v1::Enrolled>, Status> {
        let peer = self.interceptor.admit(&request)?;
        let authority = self.authority()?;
        let PeerIdentity::Worker { certified, certificate } = &peer.identity else {
            return Err(Status::unauthenticated("only a worker with a certificate can renew it"));
        };
        let chain = authority.renew(certified, certificate).map_err(|error| unusable(&error))?;
        let chain = chain.map_err(|refusal| Status::permission_denied(refusal.to_string()))?;
        Ok(self.answer(authority, chain))
    }
}
