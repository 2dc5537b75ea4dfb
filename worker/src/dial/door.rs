//! A way to a master, opened: its channels, and the identity behind them.
//!
//! Which kind of way it is: with a certificate that is still good, encrypted; else with a token, encrypted, after enrolling;
//! else the worker asks, without telling anything, to be told that it is uninvited. Unencrypted only where the command line
//! says so, for tests with a master that is played.

use super::identity::{Identity, OwnKey};
use super::invitation::Invitations;
use super::proxies::Proxies;
use super::trust::SERVER_NAME;
use compass_agent::Shut;
use compass_common::join_token::is_loopback;
use compass_proto::v1;
use hyper_util::rt::TokioIo;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tower::service_fn;

/// How long a connection may take, with proxy and handshake.
const CONNECT: Duration = Duration::from_secs(10);

/// How one master is reached.
#[derive(Clone, Debug)]
pub struct Doorway {
    pub(super) master: String,
    pub(super) shared: Arc<Shared>,
}

/// Who a worker says that it is.
#[derive(Clone, Debug)]
pub struct Applicant {
    /// Its name, which its certificate will bear.
    pub worker: String,
    /// The pool that it works for; empty for that of its token, or none.
    pub pool: String,
    /// Whether it speaks without encryption and token, to a master that a test plays.
    pub plain: bool,
}

/// What all masters of a worker have in common: they are one authority.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) applicant: Applicant,
    pub(super) invitations: Invitations,
    proxies: Proxies,
    key: OnceLock<OwnKey>,
    identity: Mutex<Option<Arc<Identity>>>,
}

/// An open way. Dropping it stops the renewal of its certificate; channels live as long as they are used.
#[derive(Debug)]
pub struct Door {
    /// For the session alone; it does not dial again.
    pub session: Channel,
    /// For content; dials when it is needed, also again.
    pub bulk: Channel,
    identity: Option<Arc<Identity>>,
    /// The identity was given just now.
    fresh: bool,
    doorway: Doorway,
    _renewing: Option<Renewing>,
}

#[derive(Debug)]
struct Renewing(JoinHandle<()>);

impl Drop for Renewing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}
pub(super) type AnyStream = TokioIo<Box<dyn Stream>>;

/// How bytes go over a connection.
#[derive(Clone)]
pub(super) enum Cover {
    Plain,
    Encrypted { config: Arc<ClientConfig>, foreign: Arc<AtomicBool> },
}

impl Doorway {
    /// The ways to `masters` (`host:port`) of this worker.
    ///
    /// # Errors
    /// The first that is no address.
    pub fn all(
        masters: &[String],
        applicant: Applicant,
        invitations: Invitations,
        proxies: Proxies,
    ) -> Result<Vec<Self>, tonic::transport::Error> {
        let (key, identity) = (OnceLock::new(), Mutex::new(None));
        let shared = Arc::new(Shared { applicant, invitations, proxies, key, identity });
        let way = |master: &String| endpoint(master).map(|_| Self { master: master.clone(), shared: shared.clone() });
        masters.iter().map(way).collect()
    }

    /// `host:port`.
    pub fn master(&self) -> &str {
        &self.master
    }

    /// Goes there.
    ///
    /// # Errors
    /// See [`Shut`].
    pub async fn open(&self) -> Result<Door, Shut> {
        let host = self.master.rsplit_once(':').map_or("", |(host, _)| host);
        if self.shared.applicant.plain && is_loopback(host) {
            let stream = self.dial(&Cover::Plain).await.map_err(|no_way| self.shut(no_way))?;
            let (session, bulk) = (self.channel(stream).await?, self.bulk(true));
            return Ok(Door { session, bulk, identity: None, fresh: false, doorway: self.clone(), _renewing: None });
        }
        let token = self.shared.invitations.find(&self.master).map_err(Shut::Refused)?;
        let known = self.shared.current().filter(|identity| {
            identity.is_good() && token.as_ref().is_none_or(|token| token.authority == identity.authority)
        });
        let (identity, fresh) = match (known, token) {
            (Some(identity), _) => (identity, false),
            (None, Some(token)) => (self.enrol(&token).await.map_err(|no_way| self.shut(no_way))?, true),
            (None, None) => return Err(self.knock().await),
        };
        let dialled = self.dial(&Cover::of(Some(&identity))).await;
        let stream = dialled.map_err(|no_way| self.unless_another_token(self.shut(no_way), &identity))?;
        let session = self.channel(stream).await?;
        let bulk = self.bulk(false);
        let renewing = {
            let (doorway, bulk, identity) = (self.clone(), bulk.clone(), identity.clone());
            Some(Renewing(tokio::spawn(async move { doorway.renew(identity, bulk).await })))
        };
        Ok(Door { session, bulk, identity: Some(identity), fresh, doorway: self.clone(), _renewing: renewing })
    }

    /// A connection, covered.
    pub(super) async fn dial(&self, cover: &Cover) -> Result<AnyStream, NoWay> {
        let dialled = tokio::time::timeout(CONNECT, async {
            let again = |reason| NoWay::Shut(Shut::Again(reason));
            let stream = self.shared.proxies.connect(&self.master).await.map_err(again)?;
            match cover {
                Cover::Plain => Ok(TokioIo::new(Box::new(stream) as Box<dyn Stream>)),
                Cover::Encrypted { config, foreign } => {
                    let name = ServerName::try_from(SERVER_NAME).map_err(|error| again(error.to_string()))?;
                    let connected = TlsConnector::from(config.clone()).connect(name, stream).await;
                    let stream = connected.map_err(|error| self.no_handshake(&error, foreign))?;
                    Ok(TokioIo::new(Box::new(stream) as Box<dyn Stream>))
                }
            }
        });
        let late =
            || NoWay::Shut(Shut::Again(format!("{} did not answer within {} s", self.master, CONNECT.as_secs())));
        dialled.await.unwrap_or_else(|_| Err(late()))
    }

    fn no_handshake(&self, error: &io::Error, foreign: &AtomicBool) -> NoWay {
        let master = &self.master;
        if foreign.load(Ordering::Relaxed) {
            return NoWay::Shut(Shut::Refused(format!(
                "the master at {master} is of another authority than this worker's join token; get a token of this \
                 master: compass-master token create"
            )));
        }
        match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(rustls::Error::InvalidMessage(_)) => NoWay::Plain,
            _ => NoWay::Shut(Shut::Again(format!("no encrypted connection to {master}: {error}"))),
        }
    }

    pub(super) fn shut(&self, no_way: NoWay) -> Shut {
        match no_way {
            NoWay::Shut(shut) => shut,
            NoWay::Plain => Shut::Refused(format!(
                "what listens at {} speaks without encryption, as no master does; check the address and the port",
                self.master
            )),
        }
    }

    /// A master that began anew has left another token by now: then trying again helps.
    fn unless_another_token(&self, shut: Shut, identity: &Identity) -> Shut {
        let Shut::Refused(reason) = &shut else { return shut };
        self.shared.forget(identity);
        match self.shared.invitations.find(&self.master) {
            Ok(Some(token)) if token.authority != identity.authority => Shut::Again(reason.clone()),
            _ => shut,
        }
    }

    /// A channel over one connection.
    pub(super) async fn channel(&self, stream: AnyStream) -> Result<Channel, Shut> {
        let once = Arc::new(Mutex::new(Some(stream)));
        let connector = service_fn(move |_| {
            let stream = once.lock().unwrap_or_else(PoisonError::into_inner).take();
            async move { stream.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected)) }
        });
        let endpoint = endpoint(&self.master).map_err(|error| Shut::Again(error.to_string()))?;
        let channel = endpoint.connect_with_connector(connector).await;
        channel.map_err(|error| Shut::Again(error_chain(&error)))
    }

    /// A channel that dials when it is used, with the identity of that moment.
    fn bulk(&self, plain: bool) -> Channel {
        let doorway = self.clone();
        let connector = service_fn(move |_| {
            let doorway = doorway.clone();
            async move {
                let identity = doorway.shared.current().filter(|_| !plain);
                doorway.dial(&Cover::of(identity.as_deref())).await.map_err(|no_way| doorway.shut(no_way))
            }
        });
        // The address was parsed before: see [`Self::all`].
        let endpoint = endpoint(&self.master).unwrap_or_else(|_| Endpoint::from_static("http://unreachable.invalid:1"));
        endpoint.connect_with_connector_lazy(connector)
    }
}

/// Why nobody was reached.
pub(super) enum NoWay {
    Shut(Shut),
    /// Whoever is there speaks without encryption.
    Plain,
}

impl Shared {
    fn current(&self) -> Option<Arc<Identity>> {
        self.identity.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn key(&self) -> Result<&OwnKey, super::identity::IdentityError> {
        if self.key.get().is_none() {
            // Another thread may have been faster: then its key stands.
            let _ = self.key.set(OwnKey::generate()?);
        }
        self.key.get().ok_or(super::identity::IdentityError::Missing)
    }

    pub(super) fn adopt(
        &self,
        authority: compass_types::ids::Digest,
        answer: v1::Enrolled,
    ) -> Result<Arc<Identity>, Shut> {
        let identity = self.key().and_then(|key| key.identity(authority, answer));
        let identity = Arc::new(identity.map_err(|error| Shut::Refused(error_chain(&error)))?);
        *self.identity.lock().unwrap_or_else(PoisonError::into_inner) = Some(identity.clone());
        Ok(identity)
    }

    /// Whether no other was given since.
    fn is_current(&self, identity: &Identity) -> bool {
        self.current().is_some_and(|known| std::ptr::eq(&*known, identity))
    }

    /// Lets an identity go that masters do not take, unless there is another by now.
    fn forget(&self, refused: &Identity) {
        let mut identity = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        if identity.as_deref().is_some_and(|known| std::ptr::eq(known, refused)) {
            *identity = None;
        }
    }
}

impl Cover {
    fn of(identity: Option<&Identity>) -> Self {
        match identity {
            None => Self::Plain,
            Some(identity) => Self::Encrypted { config: identity.config.clone(), foreign: identity.foreign.clone() },
        }
    }
}

impl Door {
    /// What an answer other than a session means.
    pub fn shut_by(&self, status: &Status) -> Shut {
        let reason =
            || format!("the master at {} does not let this worker in: {}", self.doorway.master, status.message());
        match (status.code(), &self.identity) {
            (Code::PermissionDenied, _) | (Code::Unauthenticated, None) => Shut::Refused(reason()),
            // One that was given just now, and is not taken: another would not be either.
            (Code::Unauthenticated, Some(identity))
                if self.fresh && identity.is_good() && self.doorway.shared.is_current(identity) =>
            {
                Shut::Refused(reason())
            }
            (Code::Unauthenticated, Some(identity)) => {
                // Another certificate may do.
                self.doorway.shared.forget(identity);
                Shut::Again(reason())
            }
            _ => Shut::Again(error_chain(status)),
        }
    }
}

fn endpoint(master: &str) -> Result<Endpoint, tonic::transport::Error> {
    // Encryption is below, at the connection: no scheme says it.
    let endpoint = Endpoint::from_shared(format!("http://{master}"))?;
    Ok(endpoint
        .http2_keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(10))
        .keep_alive_while_idle(true))
}

/// An error with its causes: tonic's own message says no more than "transport error".
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
