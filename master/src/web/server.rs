//! The server of the port. It only reads: every request gets what the latest view says.

use super::access::BearerToken;
use super::health::Vitals;
use super::view::RunView;
use super::{metrics, page, port};
use crate::control::Office;
use crate::descriptors::Descriptors;
use crate::store::Standing;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// The port is taken.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} for HTTP; write another master.http, or \"off\"")]
pub struct ListenError {
    pub address: SocketAddr,
    #[source]
    source: std::io::Error,
}

/// A port that is open and not yet served.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    token: Option<BearerToken>,
}

#[derive(Clone)]
struct Shared {
    views: watch::Receiver<RunView>,
    token: Option<BearerToken>,
    /// When the view was last renewed.
    renewed: watch::Receiver<Instant>,
    /// How sure this master may be of its lead.
    standing: watch::Receiver<Standing>,
}

impl HttpServer {
    /// Opens the port.
    ///
    /// # Errors
    /// Somebody else has it.
    pub async fn open(address: SocketAddr, token: Option<BearerToken>) -> Result<Self, ListenError> {
        let failed = |source| ListenError { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, token })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Shows what `views` holds until `stop` turns true. Whoever sends views does so at least every few seconds, changed or
    /// not: that is what `/healthz` goes by, beside the store's `standing` and the descriptors that are left.
    pub async fn serve(
        self,
        views: watch::Receiver<RunView>,
        standing: watch::Receiver<Standing>,
        stop: watch::Receiver<bool>,
    ) {
        let (renewals, renewed) = watch::channel(Instant::now());
        let mut observed = views.clone();
        let watching = async move {
            while observed.changed().await.is_ok() {
                let _ = renewals.send(Instant::now());
            }
            std::future::pending::<()>().await;
        };
        let app = router(Shared { views, token: self.token, renewed, standing });
        tokio::select! {
            () = watching => {}
            () = port::serve(self.listener, app, port::Limits::default(), stop) => {}
        }
    }
}

impl HttpServer {
    /// Shows all jobs that `office` has, until `stop` turns true.
    pub async fn serve_jobs(self, office: Arc<Office>, stop: watch::Receiver<bool>) {
        super::jobs::serve(self.listener, self.token, office, stop).await;
    }
}

fn router(shared: Shared) -> Router {
    let guarded = Router::new()
        .route("/", get(|State(shared): State<Shared>| async move { Html(page::render(&shared.views.borrow())) }))
        .route("/status.json", get(|State(shared): State<Shared>| async move { Json(shared.views.borrow().clone()) }))
        .route("/metrics", get(scrape))
        .layer(from_fn_with_state(shared.token.clone(), demand_token));
    // Health is asked by load balancers, which bear no token, and tells nothing else.
    guarded.route("/healthz", get(health)).with_state(shared)
}

async fn scrape(State(shared): State<Shared>) -> Response {
    let view = shared.views.borrow().clone();
    match metrics::render(view) {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn health(State(shared): State<Shared>) -> (StatusCode, String) {
    let silent_for = Some(shared.renewed.borrow().elapsed());
    let standing = shared.standing.borrow().clone();
    Vitals { silent_for, standing, descriptors: Descriptors::count() }.answer()
}

pub(super) async fn demand_token(State(token): State<Option<BearerToken>>, request: Request, next: Next) -> Response {
    let header = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    match &token {
        Some(token) if !token.is_borne_by(header) => {
            let how = [(header::WWW_AUTHENTICATE, "Bearer")];
            (StatusCode::UNAUTHORIZED, how, "this port wants `Authorization: Bearer <master.http_token_file>`\n")
                .into_response()
        }
        _ => next.run(request).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::health::STALE;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// Status code and body of a GET, spoken by hand.
    async fn fetch(address: SocketAddr, path: &str, extra: &str) -> (u16, String) {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{extra}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (code, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    #[tokio::test]
    async fn the_port_shows_the_latest_view_and_keeps_it_from_strangers() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "word\n").unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let token = BearerToken::read(&file).unwrap();
        let server = HttpServer::open("127.0.0.1:0".parse().unwrap(), Some(token)).await.unwrap();
        let address = server.address();
        let taken = HttpServer::open(address, None).await.unwrap_err();
        assert!(taken.to_string().contains("write another master.http"), "{taken}");
        let (views, view) = watch::channel(RunView::default());
        let (stop, stopping) = watch::channel(false);
        let (_standing, standing) = watch::channel(Standing::Sure);
        let serving = tokio::spawn(server.serve(view, standing, stopping));
        views.send_replace(RunView { recorded_samples: 41, ..RunView::default() });

        assert_eq!(fetch(address, "/healthz", "").await, (200, "ok\n".into()));
        for guarded in ["/", "/status.json", "/metrics"] {
            let (code, body) = fetch(address, guarded, "").await;
            assert!(code == 401 && !body.contains("41"), "{guarded}: {code} {body}");
            let (code, body) = fetch(address, guarded, "Authorization: Bearer word\r\n").await;
            assert!(code == 200 && body.contains("41"), "{guarded}: {code} {body}");
        }
        assert_eq!(fetch(address, "/nothing", "").await.0, 401, "a stranger does not even learn what there is");
        assert_eq!(fetch(address, "/nothing", "Authorization: Bearer word\r\n").await.0, 404);
        stop.send(true).unwrap();
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn a_driver_that_hangs_is_not_healthy() {
        let (_views, view) = watch::channel(RunView::default());
        let (renewals, renewed) = watch::channel(Instant::now());
        let (_standing, standing) = watch::channel(Standing::Sure);
        let shared = Shared { views: view, token: None, renewed, standing };
        assert_eq!(health(State(shared.clone())).await.0, StatusCode::OK);
        renewals.send_replace(Instant::now().checked_sub(STALE + Duration::from_secs(30)).unwrap());
        let (code, text) = health(State(shared)).await;
        assert_eq!(code, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(text, "the scheduler has not moved for 60 s\n");
    }
}
