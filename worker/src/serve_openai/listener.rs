//! Connections of the server: bounded in number, and in the time that the head of a request may take. A client that is silent
//! holds no place for long; one that waits for an answer does.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Longest time that the head of a request may take, from the end of the request before it.
const HEAD: Duration = Duration::from_secs(60);
/// Largest head of a request in bytes.
const HEAD_BYTES: usize = 16 * 1024;
/// Pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);

/// Number of connections, and their time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) connections: u32,
    pub(super) head: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 256, head: HEAD }
    }
}

/// Serves `app` until `stop` is cancelled and every request in flight has its answer. Connections beyond the limit are closed at
/// once.
pub(super) async fn serve(listener: TcpListener, app: Router, limits: Limits, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(limits.connections as usize));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, address)) => match places.clone().try_acquire_owned() {
                Ok(place) => {
                    let (app, stop) = (app.clone(), stop.clone());
                    tokio::spawn(async move {
                        converse(stream, app, limits, stop).await;
                        drop(place);
                    });
                }
                Err(_) => tracing::debug!(%address, "too many connections"),
            },
            // Out of descriptors, or a client that is gone already: neither is the end of the listener.
            Err(error) => {
                tracing::debug!(%error, "cannot accept a connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    // All places are free once all connections have ended.
    drop(places.acquire_many(limits.connections).await);
}

async fn converse(stream: TcpStream, app: Router, limits: Limits, stop: CancellationToken) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn half_a_request_is_cut_off_and_those_beyond_the_limit_are_closed_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let app = Router::new().route("/", get(|| async { "here" }));
        let limits = Limits { connections: 2, head: Duration::from_millis(300) };
        let serving = tokio::spawn(serve(listener, app, limits, stop.clone()));
        let mut halves = Vec::new();
        for begun in ["GET / HTTP/1.1\r\nHost: localhost\r\nX-Half", ""] {
            let mut half = TcpStream::connect(address).await.unwrap();
            half.write_all(begun.as_bytes()).await.unwrap();
            halves.push(half);
        }
        let mut beyond = TcpStream::connect(address).await.unwrap();
        // A reset is as good an end as a close.
        assert!(matches!(beyond.read(&mut [0; 16]).await, Ok(0) | Err(_)));
        for mut half in halves {
            let _ = half.read_to_end(&mut Vec::new()).await;
        }
        let mut whole = TcpStream::connect(address).await.unwrap();
        whole.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        whole.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("here"), "{answer}");
        stop.cancel();
        serving.await.unwrap();
    }
}
