//! Connection to a master: its channels, and the identity that the worker presents on it.
//!
//! With a valid certificate the connection is encrypted; without one the worker first enrols with its join token,
//! encrypted too; without a token it only probes the master, so that both sides report the missing token. Plaintext is
//! used only where the command line requests it, for tests with a fake master.

use super::identity::{Identity, OwnKey};
use super::join_token_source::JoinTokenSource;
use super::proxies::Proxies;
use super::trust::SERVER_NAME;
use compass_agent::ConnectError;
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

/// Time limit for connecting, including proxy and handshake.
const CONNECT: Duration = Duration::from_secs(10);

/// Address of one master, with everything that is needed to connect to it.
#[derive(Clone, Debug)]
pub struct MasterEndpoint {
    pub(super) master: String,
    pub(super) shared: Arc<Shared>,
}

/// Credentials that a worker presents to every master.
#[derive(Clone, Debug)]
pub struct DialOptions {
    /// Name of the worker, which its certificate will carry.
    pub worker: String,
    /// Pool that the worker joins; empty for the pool of its token, or none.
    pub pool: String,
    /// Set if masters on loopback are reached in plaintext and without a token: for fake masters of tests.
    pub plain: bool,
}

/// State that the endpoints of all masters share, since the masters have one authority.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: DialOptions,
    pub(super) tokens: JoinTokenSource,
    proxies: Proxies,
    key: OnceLock<OwnKey>,
    identity: Mutex<Option<Arc<Identity>>>,
}

/// Open connection. Dropping it stops the renewal of the certificate; channels live as long as they are used.
#[derive(Debug)]
pub struct Connection {
    /// Channel of the session; it never reconnects.
    pub session: Channel,
    /// Channel of bulk content; connects on first use and reconnects.
    pub bulk: Channel,
    identity: Option<Arc<Identity>>,
    /// Set if the identity was issued for this connection.
    fresh: bool,
    endpoint: MasterEndpoint,
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

/// Protection of the bytes of a connection.
#[derive(Clone)]
pub(super) enum Transport {
    Plaintext,
    Encrypted { config: Arc<ClientConfig>, foreign: Arc<AtomicBool> },
}

impl MasterEndpoint {
    /// Returns the endpoints of `masters` (`host:port`).
    ///
    /// # Errors
    /// The first entry that is not an address.
    pub fn all(
        masters: &[String],
        options: DialOptions,
        tokens: JoinTokenSource,
        proxies: Proxies,
    ) -> Result<Vec<Self>, tonic::transport::Error> {
        let (key, identity) = (OnceLock::new(), Mutex::new(None));
        let shared = Arc::new(Shared { options, tokens, proxies, key, identity });
        let endpoint =
            |master: &String| http_endpoint(master).map(|_| Self { master: master.clone(), shared: shared.clone() });
        masters.iter().map(endpoint).collect()
    }

    /// `host:port`.
    pub fn master(&self) -> &str {
        &self.master
    }

    /// Connects to the master.
    ///
    /// # Errors
    /// Why the master cannot be reached, and whether a later attempt may succeed.
    pub async fn open(&self) -> Result<Connection, ConnectError> {
        let host = self.master.rsplit_once(':').map_or("", |(host, _)| host);
        if self.shared.options.plain && is_loopback(host) {
            let stream = self.dial(&Transport::Plaintext).await.map_err(|error| self.connect_error(error))?;
            let (session, bulk) = (self.channel(stream).await?, self.bulk(true));
            return Ok(Connection {
                session,
                bulk,
                identity: None,
                fresh: false,
                endpoint: self.clone(),
                _renewing: None,
            });
        }
        let token = self.shared.tokens.find(&self.master).map_err(ConnectError::Refused)?;
        let known = self.shared.current().filter(|identity| {
            identity.is_good() && token.as_ref().is_none_or(|token| token.authority == identity.authority)
        });
        let (identity, fresh) = match (known, token) {
            (Some(identity), _) => (identity, false),
            (None, Some(token)) => (self.enrol(&token).await.map_err(|error| self.connect_error(error))?, true),
            (None, None) => return Err(self.probe().await),
        };
        let dialled = self.dial(&Transport::of(Some(&identity))).await;
        let stream = dialled.map_err(|error| self.unless_another_token(self.connect_error(error), &identity))?;
        let session = self.channel(stream).await?;
        let bulk = self.bulk(false);
        let renewing = {
            let (endpoint, bulk, identity) = (self.clone(), bulk.clone(), identity.clone());
            Some(Renewing(tokio::spawn(async move { endpoint.renew(identity, bulk).await })))
        };
        Ok(Connection { session, bulk, identity: Some(identity), fresh, endpoint: self.clone(), _renewing: renewing })
    }

    /// Opens a byte stream to the master with this transport.
    pub(super) async fn dial(&self, transport: &Transport) -> Result<AnyStream, DialError> {
        let dialled = tokio::time::timeout(CONNECT, async {
            let again = |reason| DialError::Connect(ConnectError::Unavailable(reason));
            let stream = self.shared.proxies.connect(&self.master).await.map_err(again)?;
            match transport {
                Transport::Plaintext => Ok(TokioIo::new(Box::new(stream) as Box<dyn Stream>)),
                Transport::Encrypted { config, foreign } => {
                    let name = ServerName::try_from(SERVER_NAME).map_err(|error| again(error.to_string()))?;
                    let connected = TlsConnector::from(config.clone()).connect(name, stream).await;
                    let stream = connected.map_err(|error| self.handshake_error(&error, foreign))?;
                    Ok(TokioIo::new(Box::new(stream) as Box<dyn Stream>))
                }
            }
        });
        let timed_out = || {
            DialError::Connect(ConnectError::Unavailable(format!(
                "{} did not answer within {} s",
                self.master,
                CONNECT.as_secs()
            )))
        };
        dialled.await.unwrap_or_else(|_| Err(timed_out()))
    }

    fn handshake_error(&self, error: &io::Error, foreign: &AtomicBool) -> DialError {
        let master = &self.master;
        if foreign.load(Ordering::Relaxed) {
            return DialError::Connect(ConnectError::Refused(format!(
                "the master at {master} is of another authority than this worker's join token; get a token of this \
                 master: compass-master token create"
            )));
        }
        match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(rustls::Error::InvalidMessage(_)) => DialError::Plaintext,
            _ => DialError::Connect(ConnectError::Unavailable(format!("no encrypted connection to {master}: {error}"))),
        }
    }

    pub(super) fn connect_error(&self, error: DialError) -> ConnectError {
        match error {
            DialError::Connect(error) => error,
            DialError::Plaintext => ConnectError::Refused(format!(
                "what listens at {} speaks without encryption, as no master does; check the address and the port",
                self.master
            )),
        }
    }

    /// Makes a refusal retryable where a restarted master has written another token since.
    fn unless_another_token(&self, error: ConnectError, identity: &Identity) -> ConnectError {
        let ConnectError::Refused(reason) = &error else { return error };
        self.shared.forget(identity);
        match self.shared.tokens.find(&self.master) {
            Ok(Some(token)) if token.authority != identity.authority => ConnectError::Unavailable(reason.clone()),
            _ => error,
        }
    }

    /// Returns a channel over this one stream.
    pub(super) async fn channel(&self, stream: AnyStream) -> Result<Channel, ConnectError> {
        let once = Arc::new(Mutex::new(Some(stream)));
        let connector = service_fn(move |_| {
            let stream = once.lock().unwrap_or_else(PoisonError::into_inner).take();
            async move { stream.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected)) }
        });
        let http_endpoint =
            http_endpoint(&self.master).map_err(|error| ConnectError::Unavailable(error.to_string()))?;
        let channel = http_endpoint.connect_with_connector(connector).await;
        channel.map_err(|error| ConnectError::Unavailable(error_chain(&error)))
    }

    /// Returns a channel that connects on use, with the identity that is current then.
    fn bulk(&self, plain: bool) -> Channel {
        let endpoint = self.clone();
        let connector = service_fn(move |_| {
            let endpoint = endpoint.clone();
            async move {
                let identity = endpoint.shared.current().filter(|_| !plain);
                endpoint.dial(&Transport::of(identity.as_deref())).await.map_err(|error| endpoint.connect_error(error))
            }
        });
        // [`Self::all`] has parsed the address before.
        let http_endpoint =
            http_endpoint(&self.master).unwrap_or_else(|_| Endpoint::from_static("http://unreachable.invalid:1"));
        http_endpoint.connect_with_connector_lazy(connector)
    }
}

/// Reason why a stream to the master could not be opened.
pub(super) enum DialError {
    Connect(ConnectError),
    /// The peer does not encrypt.
    Plaintext,
}

impl Shared {
    fn current(&self) -> Option<Arc<Identity>> {
        self.identity.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn key(&self) -> Result<&OwnKey, super::identity::IdentityError> {
        if self.key.get().is_none() {
            // Another thread may have been faster: then its key is the one that counts.
            let _ = self.key.set(OwnKey::generate()?);
        }
        self.key.get().ok_or(super::identity::IdentityError::Missing)
    }

    pub(super) fn adopt(
        &self,
        authority: compass_types::ids::Digest,
        answer: v1::Enrolled,
    ) -> Result<Arc<Identity>, ConnectError> {
        let identity = self.key().and_then(|key| key.identity(authority, answer));
        let identity = Arc::new(identity.map_err(|error| ConnectError::Refused(error_chain(&error)))?);
        *self.identity.lock().unwrap_or_else(PoisonError::into_inner) = Some(identity.clone());
        Ok(identity)
    }

    /// Returns whether no other identity was issued since.
    fn is_current(&self, identity: &Identity) -> bool {
        self.current().is_some_and(|known| std::ptr::eq(&*known, identity))
    }

    /// Drops an identity that masters reject, unless another one was issued since.
    fn forget(&self, refused: &Identity) {
        let mut identity = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        if identity.as_deref().is_some_and(|known| std::ptr::eq(known, refused)) {
            *identity = None;
        }
    }
}

impl Transport {
    fn of(identity: Option<&Identity>) -> Self {
        match identity {
            None => Self::Plaintext,
            Some(identity) => Self::Encrypted { config: identity.config.clone(), foreign: identity.foreign.clone() },
        }
    }
}

impl Connection {
    /// Converts a status that came in place of a session into an error.
    pub fn status_error(&self, status: &Status) -> ConnectError {
        let reason =
            || format!("the master at {} does not let this worker in: {}", self.endpoint.master, status.message());
        match (status.code(), &self.identity) {
            (Code::PermissionDenied, _) | (Code::Unauthenticated, None) => ConnectError::Refused(reason()),
            // An identity that was issued just now is rejected: another one would be rejected too.
            (Code::Unauthenticated, Some(identity))
                if self.fresh && identity.is_good() && self.endpoint.shared.is_current(identity) =>
            {
                ConnectError::Refused(reason())
            }
            (Code::Unauthenticated, Some(identity)) => {
                // Another certificate may be accepted.
                self.endpoint.shared.forget(identity);
                ConnectError::Unavailable(reason())
            }
            _ => ConnectError::Unavailable(error_chain(status)),
        }
    }
}

fn http_endpoint(master: &str) -> Result<Endpoint, tonic::transport::Error> {
    // The URI has no TLS scheme: TLS is applied below, at the connection.
    let http_endpoint = Endpoint::from_shared(format!("http://{master}"))?;
    Ok(http_endpoint
        .http2_keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(10))
        .keep_alive_while_idle(true))
}

/// Returns an error with its causes: tonic's own message is only "transport error".
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
