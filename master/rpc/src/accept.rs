//! From a listener to connections whose peers are known, over TLS 1.3.
//!
//! Handshakes run side by side, each with a deadline, so many at most in all and for each address: a peer that says nothing
//! blocks no other. A peer that is not a worker keeps its connection for a short time only.

use super::connection_slots::{Bounds, ConnectionSlot, ConnectionSlots};
use super::peer::{Peer, PeerIdentity};
use super::refusals::Refusals;
use compass_authority::{Authority, AuthorityError, Verification};
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Sleep;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::client::danger::HandshakeSignatureValid;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring::default_provider, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, UnixTime};
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::server::{NoServerSessionStorage, ServerConfig};
use tokio_rustls::rustls::{self, DigitallySignedStruct, DistinguishedName, SignatureScheme, version::TLS13};
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::Connected;

/// Rule by which a listener lets peers in.
#[derive(Clone, Debug)]
pub enum Access {
    /// Every peer, unencrypted: for benchmarks and tests of what lies behind the listener. No master of a run is so.
    Open,
    /// Peers that the authority knows.
    Guarded(Arc<Authority>),
}

impl Access {
    pub(super) fn authority(&self) -> Option<Arc<Authority>> {
        match self {
            Self::Open => None,
            Self::Guarded(authority) => Some(authority.clone()),
        }
    }
}

/// The connections of a listener, each with its peer, and what makes them come while it is polled: dropping it closes
/// the listener.
///
/// # Errors
/// The authority gives this master no certificate.
pub fn connections(
    listener: TcpListener,
    access: Access,
    bounds: Bounds,
    refusals: Refusals,
) -> Result<(Connections, impl Future<Output = ()> + Send), AuthorityError> {
    let guard = match access {
        Access::Open => None,
        Access::Guarded(authority) => {
            let acceptor = TlsAcceptor::from(Arc::new(server_config(&authority)?));
            Some(Arc::new(Guard { authority, acceptor, bounds, refusals }))
        }
    };
    let (sender, receiver) = mpsc::channel(16);
    Ok((ReceiverStream::new(receiver), accept(listener, guard, bounds, sender)))
}

/// See [`connections`].
pub type Connections = ReceiverStream<Result<Connection, Infallible>>;

type Sender = mpsc::Sender<Result<Connection, Infallible>>;

async fn accept(listener: TcpListener, guard: Option<Arc<Guard>>, bounds: Bounds, sender: Sender) {
    let places = ConnectionSlots::new(bounds);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = sender.closed() => return,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            // Out of descriptors, or a peer that is gone already: neither is the end of the listener.
            Err(error) => {
                tracing::debug!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let address = address.ip().to_canonical();
        let _ = stream.set_nodelay(true);
        let Some(place) = places.take(address) else {
            tracing::debug!(%address, "too many connections");
            continue;
        };
        match &guard {
            None => {
                let peer = Peer { address, identity: PeerIdentity::Trusted };
                // It has as long for its first words as others for their handshake.
                let deadline = Some(Box::pin(tokio::time::sleep(bounds.handshake)));
                let connection = Connection { io: Io::Plain(stream), peer, deadline, preface: PREFACE, place };
                if sender.send(Ok(connection)).await.is_err() {
                    return;
                }
            }
            Some(guard) => {
                let (guard, sender) = (guard.clone(), sender.clone());
                tokio::spawn(async move {
                    if let Some(connection) = guard.receive(stream, address, place).await {
                        let _ = sender.send(Ok(connection)).await;
                    }
                });
            }
        }
    }
}

/// Parts that a guarded listener needs.
struct Guard {
    authority: Arc<Authority>,
    acceptor: TlsAcceptor,
    bounds: Bounds,
    refusals: Refusals,
}

/// Length of what every HTTP/2 client says first (RFC 9113, section 3.4). Once it is read, pings find out who is gone.
const PREFACE: usize = 24;

/// First byte of every TLS connection.
const TLS_HANDSHAKE: u8 = 22;

impl Guard {
    async fn receive(&self, stream: TcpStream, address: IpAddr, mut place: ConnectionSlot) -> Option<Connection> {
        let greeted = tokio::time::timeout(self.bounds.handshake, self.greet(stream, address)).await;
        let Ok(greeted) = greeted else {
            self.refusals.tell(address, "it opened a connection and did not go on with it");
            return None;
        };
        let (io, identity) = greeted?;
        let deadline = match identity {
            PeerIdentity::Worker { .. } => {
                place.known();
                None
            }
            _ => Some(Box::pin(tokio::time::sleep(self.bounds.unauthenticated_life))),
        };
        Some(Connection { io, peer: Peer { address, identity }, deadline, preface: 0, place })
    }

    async fn greet(&self, stream: TcpStream, address: IpAddr) -> Option<(Io, PeerIdentity)> {
        let mut first = [0];
        match stream.peek(&mut first).await {
            Ok(1) if first[0] == TLS_HANDSHAKE => {}
            // Somebody who speaks in the plain is told so in the plain: no service lets it in.
            Ok(1) => return Some((Io::Plain(stream), PeerIdentity::Plain)),
            _ => return None,
        }
        match self.acceptor.accept(stream).await {
            Ok(stream) => {
                let identity = self.identity(stream.get_ref().1.peer_certificates().unwrap_or_default());
                Some((Io::Encrypted(Box::new(stream)), identity))
            }
            Err(error) => {
                let alert = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
                match alert {
                    Some(rustls::Error::AlertReceived(_)) => {
                        self.refusals
                            .tell(address, "it does not trust this master: its join token is of another authority");
                    }
                    _ => tracing::debug!(%address, %error, "no encrypted connection"),
                }
                None
            }
        }
    }

    fn identity(&self, chain: &[CertificateDer<'static>]) -> PeerIdentity {
        let Some(certificate) = chain.first().cloned() else {
            return PeerIdentity::Unauthenticated { certificate: None, why: "it brought no certificate" };
        };
        let unauthenticated = |why| PeerIdentity::Unauthenticated { certificate: Some(certificate.clone()), why };
        match self.authority.judge(chain) {
            Verification::Identity(certified) => PeerIdentity::Worker { certified: Arc::new(certified), certificate },
            Verification::OwnKey => unauthenticated("it brought no certificate of this authority"),
            Verification::Expired => unauthenticated("its certificate has expired"),
            Verification::Foreign => unauthenticated("its certificate is of another authority"),
        }
    }
}

fn server_config(authority: &Authority) -> Result<ServerConfig, AuthorityError> {
    let credentials = authority.credentials()?;
    let provider = Arc::new(default_provider());
    let used = |error: rustls::Error| compass_authority::CertificateError::Use(error.into());
    let builder =
        ServerConfig::builder_with_provider(provider.clone()).with_protocol_versions(&[&TLS13]).map_err(used)?;
    let builder = builder.with_client_cert_verifier(Arc::new(AnyKey(provider)));
    let mut config = builder.with_single_cert(credentials.chain, credentials.key).map_err(used)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    // Every connection is judged again.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// Takes any certificate whose key the peer holds. What it is worth is judged behind the handshake ([`Guard::identity`]):
/// a worker with an expired one then hears a sentence instead of an alert, and can enrol again.
#[derive(Debug)]
struct AnyKey(Arc<CryptoProvider>);

impl ClientCertVerifier for AnyKey {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _others: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.3 is spoken here".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// A connection with its peer.
#[derive(Debug)]
pub struct Connection {
    io: Io,
    peer: Peer,
    /// Time at which a peer that is not a worker, or has not said its first words, is cut off.
    deadline: Option<Pin<Box<Sleep>>>,
    /// Bytes still to be read of what every HTTP/2 client says first, before which an unguarded one counts as unauthenticated.
    preface: usize,
    place: ConnectionSlot,
}

#[derive(Debug)]
enum Io {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Some(deadline) = &mut self.deadline
            && deadline.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        let read = match &mut self.io {
            Io::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Io::Encrypted(stream) => Pin::new(stream).poll_read(cx, buffer),
        };
        if self.preface > 0 {
            self.preface = self.preface.saturating_sub(buffer.filled().len() - before);
            if self.preface == 0 {
                self.deadline = None;
                self.place.known();
            }
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.io {
            Io::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Io::Encrypted(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Io::Encrypted(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Io::Encrypted(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_stream::StreamExt as _;

    /// Bytes that every HTTP/2 client says first.
    const FIRST_WORDS: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

    /// An open listener whose connections are read to their end; each that has read its first words says so.
    async fn open_listener(bounds: Bounds) -> (std::net::SocketAddr, mpsc::UnboundedReceiver<usize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (mut incoming, accepting) = connections(listener, Access::Open, bounds, Refusals::default()).unwrap();
        let (told, heard) = mpsc::unbounded_channel();
        tokio::spawn(accepting);
        tokio::spawn(async move {
            while let Some(Ok(mut connection)) = incoming.next().await {
                let told = told.clone();
                tokio::spawn(async move {
                    let (mut buffer, mut read) = ([0; 64], 0);
                    while let Ok(more @ 1..) = connection.read(&mut buffer).await {
                        read += more;
                        if read == PREFACE {
                            let _ = told.send(read);
                        }
                    }
                });
            }
        });
        (address, heard)
    }

    #[tokio::test]
    async fn slow_handshakes_are_cut_off_and_many_of_them_do_not_block_others_for_long() {
        let handshake = Duration::from_millis(300);
        let bounds = Bounds { unauthenticated: 3, handshake, ..Bounds::default() };
        let (address, mut heard) = open_listener(bounds).await;
        let mut greeted = TcpStream::connect(address).await.unwrap();
        greeted.write_all(FIRST_WORDS).await.unwrap();
        assert_eq!(heard.recv().await, Some(FIRST_WORDS.len()));
        let mut halves = Vec::new();
        for _ in 0..3 {
            let mut half = TcpStream::connect(address).await.unwrap();
            half.write_all(&FIRST_WORDS[..20]).await.unwrap();
            halves.push(half);
        }
        let mut beyond = TcpStream::connect(address).await.unwrap();
        assert!(matches!(beyond.read(&mut [0; 8]).await, Ok(0) | Err(_)), "closed at once");
        for mut half in halves {
            assert!(matches!(half.read(&mut [0; 8]).await, Ok(0) | Err(_)), "closed at its deadline");
        }
        let mut next = TcpStream::connect(address).await.unwrap();
        next.write_all(FIRST_WORDS).await.unwrap();
        assert_eq!(heard.recv().await, Some(FIRST_WORDS.len()));
        // A connection that has greeted stays, however long ago that was.
        greeted.write_all(b"more").await.unwrap();
        let quiet = tokio::time::timeout(handshake * 2, greeted.read(&mut [0; 8])).await;
        assert!(quiet.is_err(), "{quiet:?}");
    }
}
