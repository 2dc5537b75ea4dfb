//! The connections of the HTTP port: bounded in number and in time before anything is asked of them, so that requests
//! which never end stall no other.
//!
//! A request names this host (`Host`), or a page of another site could read the port through its visitor's browser.

use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use compass_rpc::{Bounds, ConnectionSlots};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// Time that a client may take for the head of a request; also the time that it may keep an idle connection.
const HEAD: Duration = Duration::from_secs(10);
/// Lifetime of a connection. A client that wants more opens another.
const LIFE: Duration = Duration::from_secs(60);
/// Largest head of a request, in bytes.
const HEAD_BYTES: usize = 16 * 1024;
/// Connections beyond the bounds that are taken all the same, to ask for [`HEALTH`]: a client that holds all places of an address, or
/// of the port, must not make a master look dead to what watches over it.
const OF_HEALTH: usize = 16;
/// Time that a connection for [`HEALTH`] may take for the head of its request, and its lifetime.
const HEALTH_HEAD: Duration = Duration::from_secs(1);
const HEALTH: &str = "/healthz";
/// The pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);

/// Times and numbers of connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub connections: usize,
    pub(super) of_one_address: usize,
    pub head: Duration,
    pub life: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 256, of_one_address: 128, head: HEAD, life: LIFE }
    }
}

/// Serves `app` until `stop` is cancelled. Connections beyond the limits may only ask how the master is, and soon.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    app: Router,
    limits: Limits,
    stop: CancellationToken,
) {
    let bounds = Bounds {
        connections: limits.connections,
        unauthenticated: limits.of_one_address,
        all_unauthenticated: limits.connections,
        ..Bounds::default()
    };
    let places = ConnectionSlots::new(bounds);
    let beyond = Arc::new(Semaphore::new(OF_HEALTH));
    let is_loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    // On other addresses a token is asked for, which no page of another site has; names of a host are many there.
    let app = if is_loopback { app.layer(from_fn(demand_local_host)) } else { app };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, address)) => {
                let place = places.take(address.ip().to_canonical());
                let extra = if place.is_some() { None } else { beyond.clone().try_acquire_owned().ok() };
                let (app, limits) = match (&place, &extra) {
                    (Some(_), _) => (app.clone(), limits),
                    (None, Some(_)) => {
                        let head = HEALTH_HEAD.min(limits.head);
                        (app.clone().layer(from_fn(health_alone)), Limits { head, life: head, ..limits })
                    }
                    (None, None) => {
                        tracing::debug!(%address, "too many HTTP connections");
                        continue;
                    }
                };
                let (tls, stop) = (tls.clone(), stop.clone());
                tokio::spawn(async move {
                    match tls {
                        None => converse(stream, app, limits, stop).await,
                        Some(tls) => match tokio::time::timeout(limits.head, tls.accept(stream)).await {
                            Ok(Ok(stream)) => converse(stream, app, limits, stop).await,
                            Ok(Err(error)) => tracing::debug!(%address, %error, "no encrypted HTTP connection"),
                            Err(_) => tracing::debug!(%address, "a handshake took too long"),
                        },
                    }
                    drop((place, extra));
                });
            }
            // Out of descriptors, or a client that is gone already: neither is the end of the listener.
            Err(error) => {
                tracing::debug!(%error, "cannot accept an HTTP connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    app: Router,
    limits: Limits,
    stop: CancellationToken,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
    tokio::select! {
        ended = connection => if let Err(error) = ended { tracing::debug!(%error, "an HTTP connection ended") },
        () = tokio::time::sleep(limits.life) => {}
        () = stop.cancelled() => {}
    }
}

/// Lets only a look at the master's health through.
async fn health_alone(request: Request, next: Next) -> Response {
    if request.uri().path() == HEALTH {
        return next.run(request).await;
    }
    (StatusCode::SERVICE_UNAVAILABLE, "too many connections; try again in a minute\n").into_response()
}

/// Refuses requests to a loopback port that name another host than this one.
async fn demand_local_host(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|value| value.to_str().ok());
    // The target of a request may name the host as well; then the header is ignored.
    let host = request.uri().authority().map(|authority| authority.as_str()).or(host);
    if host.is_some_and(is_local) {
        return next.run(request).await;
    }
    let why = "this port answers to `localhost` and loopback addresses alone: write http://127.0.0.1:PORT/\n";
    (StatusCode::MISDIRECTED_REQUEST, why).into_response()
}

/// Returns whether a `Host` is this one: `localhost` or a loopback address, with or without a port.
fn is_local(host: &str) -> bool {
    if let Ok(address) = host.parse::<SocketAddr>() {
        return address.ip().is_loopback();
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        return address.is_loopback();
    }
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost") || name.eq_ignore_ascii_case("localhost.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio_util::sync::DropGuard;

    struct Port {
        address: SocketAddr,
        _stop: DropGuard,
    }

    async fn port(limits: Limits) -> Port {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let app = Router::new().route("/", get(|| async { "here" })).route(HEALTH, get(|| async { "well" }));
        tokio::spawn(serve(listener, None, app, limits, stop.clone()));
        Port { address, _stop: stop.drop_guard() }
    }

    async fn ask(address: SocketAddr, host: &str) -> String {
        ask_for("/", address, host).await
    }

    async fn ask_for(path: &str, address: SocketAddr, host: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn half_a_request_is_cut_off_and_those_beyond_the_limit_are_closed_at_once() {
        let head = Duration::from_millis(300);
        let limits = Limits { connections: 4, of_one_address: 4, head, ..Limits::default() };
        let port = port(limits).await;
        let mut halves = Vec::new();
        for _ in 0..4 {
            let mut half = TcpStream::connect(port.address).await.unwrap();
            half.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Half").await.unwrap();
            halves.push(half);
        }
        let mut beyond = TcpStream::connect(port.address).await.unwrap();
        // A reset is as good an end as a close.
        assert!(matches!(beyond.read(&mut [0; 16]).await, Ok(0) | Err(_)));
        for mut half in halves {
            // The connection ends, whatever is received.
            let _ = half.read_to_end(&mut Vec::new()).await;
        }
        assert!(ask(port.address, "Host: localhost\r\n").await.ends_with("here"));
    }

    #[tokio::test]
    async fn a_client_that_holds_all_places_of_an_address_does_not_hide_that_the_master_is_well() {
        let limits = Limits { connections: 8, of_one_address: 4, ..Limits::default() };
        let port = port(limits).await;
        let mut halves = Vec::new();
        for _ in 0..4 {
            let mut half = TcpStream::connect(port.address).await.unwrap();
            half.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Half").await.unwrap();
            halves.push(half);
        }
        let host = "Host: localhost\r\n";
        assert!(ask_for(HEALTH, port.address, host).await.ends_with("well"));
        let busy = ask(port.address, host).await;
        assert!(busy.starts_with("HTTP/1.1 503") && busy.contains("too many connections"), "{busy}");
    }

    #[tokio::test]
    async fn a_client_that_keeps_its_connection_busy_loses_it_at_the_end_of_its_life() {
        let limits = Limits { life: Duration::from_millis(300), ..Limits::default() };
        let port = port(limits).await;
        let mut stream = TcpStream::connect(port.address).await.unwrap();
        let mut buffer = [0; 512];
        loop {
            if stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.is_err() {
                break;
            }
            if matches!(stream.read(&mut buffer).await, Ok(0) | Err(_)) {
                break;
            }
        }
    }

    #[tokio::test]
    async fn a_loopback_port_answers_to_its_own_names_alone() {
        let port = port(Limits::default()).await;
        for own in ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8080", "[::1]:8080", "[::1]"] {
            assert!(ask(port.address, &format!("Host: {own}\r\n")).await.ends_with("here"), "{own}");
        }
        for other in ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "10.0.0.1", ""] {
            let answer = ask(port.address, &format!("Host: {other}\r\n")).await;
            assert!(answer.starts_with("HTTP/1.1 421") && !answer.contains("here"), "{other}: {answer}");
        }
        assert!(ask(port.address, "").await.starts_with("HTTP/1.1 421"), "no Host at all");
    }
}
