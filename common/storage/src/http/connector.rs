//! Connections: to the host itself or through a proxy, in plain text or with TLS.

use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;
use tower::{Service, service_fn};

/// Time for a connection, with proxy and TLS.
const CONNECT: Duration = Duration::from_secs(15);

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Opens connections.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(super) proxies: Arc<Matcher>,
    pub(super) tls: Arc<ClientConfig>,
}

/// An open connection.
pub(crate) struct Wire {
    io: TokioIo<Box<dyn Stream>>,
    /// Set if requests go to a proxy, which wants the whole address in each.
    is_proxied: bool,
}

impl Connector {
    /// The proxy on the way to `uri`; none to this host itself.
    pub(super) fn proxy(&self, uri: &Uri) -> Option<Intercept> {
        let host = uri.host()?.trim_matches(['[', ']']);
        let is_loopback =
            host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        if is_loopback { None } else { self.proxies.intercept(uri) }
    }

    async fn connect(self, uri: Uri) -> io::Result<Wire> {
        let is_encrypted = uri.scheme_str() == Some("https");
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let (stream, is_proxied) = match self.proxy(&uri) {
            None => (direct(&host, uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 })).await?, false),
            Some(proxy) => through(&proxy, &uri, is_encrypted).await?,
        };
        let stream: Box<dyn Stream> = if is_encrypted {
            let name = ServerName::try_from(host).map_err(io::Error::other)?;
            Box::new(TlsConnector::from(self.tls).connect(name, stream).await?)
        } else {
            Box::new(stream)
        };
        Ok(Wire { io: TokioIo::new(stream), is_proxied })
    }
}

/// A stream to `uri` through `proxy`, and whether requests on it are requests to the proxy.
async fn through(proxy: &Intercept, uri: &Uri, is_encrypted: bool) -> io::Result<(TcpStream, bool)> {
    let address = proxy.uri().clone();
    let shown =
        format!("{}://{}", address.scheme_str().unwrap_or("http"), address.authority().map_or("", |a| a.as_str()));
    let failed = |error: String| io::Error::other(format!("through the proxy {shown}: {error}"));
    let open = service_fn(|uri: Uri| async move {
        let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 1080 });
        Ok::<_, io::Error>(TokioIo::new(direct(uri.host().unwrap_or_default(), port).await?))
    });
    match address.scheme_str() {
        Some("http") if is_encrypted => {
            let mut tunnel = Tunnel::new(address.clone(), open);
            if let Some(word) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(word.clone());
            }
            let stream = tunnel.call(uri.clone()).await.map_err(|error| failed(super::chain(&error)))?;
            Ok((stream.into_inner(), false))
        }
        Some("http") => {
            let stream = direct(address.host().unwrap_or_default(), address.port_u16().unwrap_or(80)).await;
            Ok((stream.map_err(|error| failed(error.to_string()))?, true))
        }
        Some("socks5" | "socks5h") => {
            let mut socks = SocksV5::new(address.clone(), open);
            if let Some((user, password)) = proxy.raw_auth() {
                socks = socks.with_auth(user.into(), password.into());
            }
            let stream = socks.call(uri.clone()).await.map_err(|error| failed(error.to_string()))?;
            Ok((stream.into_inner(), false))
        }
        _ => Err(failed("only http:// and socks5:// proxies are supported".into())),
    }
}

async fn direct(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl Service<Uri> for Connector {
    type Response = Wire;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Wire>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            let connected = tokio::time::timeout(CONNECT, connector.connect(uri)).await;
            let late =
                || io::Error::new(io::ErrorKind::TimedOut, format!("no connection within {} s", CONNECT.as_secs()));
            connected.unwrap_or_else(|_| Err(late()))
        })
    }
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.is_proxied)
    }
}

impl Read for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl Write for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
