//! The HTTP port: bound, guarded, and served.

use super::session::Guard;
use super::{jobs, port};
use compass_jobs::{BearerToken, HttpSettings, JobRegistry};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// The port is taken.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} for HTTP; {}", .settings.if_taken())]
pub struct ListenError {
    pub address: SocketAddr,
    settings: HttpSettings,
    #[source]
    source: std::io::Error,
}

/// A port that is open and not yet served.
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    guard: Arc<Guard>,
    tls: Option<TlsAcceptor>,
}

impl std::fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HttpServer({})", self.url())
    }
}

impl HttpServer {
    /// Opens the port; with `tls` its connections are encrypted. `settings` named all of this.
    ///
    /// # Errors
    /// Somebody else has it.
    pub async fn open(
        address: SocketAddr,
        token: Option<BearerToken>,
        tls: Option<TlsAcceptor>,
        settings: HttpSettings,
    ) -> Result<Self, ListenError> {
        let failed = |source| ListenError { address, settings, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let guard = Arc::new(Guard::new(token, settings, address, tls.is_some()));
        Ok(Self { listener, address, guard, tls })
    }

    /// `http` or `https`.
    fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Returns the address for a browser.
    pub fn url(&self) -> String {
        format!("{}://{}/", self.scheme(), self.address)
    }

    /// Returns the address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// An address that opens one session without the token; `None` where none is asked for.
    pub fn link(&self) -> Option<String> {
        self.guard.link().map(|path| format!("{}{path}", self.url()))
    }

    /// Shows the runs in `work_dir` until `stop` turns true.
    pub async fn serve_runs(self, work_dir: PathBuf, stop: CancellationToken) {
        port::serve(self.listener, self.tls, jobs::runs_router(self.guard, work_dir), port::Limits::default(), stop)
            .await;
    }

    /// Shows all jobs that `registry` has, until `stop` turns true.
    pub async fn serve(self, registry: Arc<JobRegistry>, stop: CancellationToken) {
        port::serve(self.listener, self.tls, jobs::router(self.guard, registry), port::Limits::default(), stop).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::STALE;
    use axum::http::StatusCode;
    use compass_jobs::JobEntry;
    use compass_progress::RunView;
    use compass_run::JobHandle;
    use compass_store::LeadershipStatus;
    use compass_types::ids::Digest;
    use std::time::{Duration, Instant};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::watch;

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

    /// A master with one job that shows this view, and what keeps that alive.
    struct Shown {
        registry: Arc<JobRegistry>,
        views: watch::Sender<RunView>,
        statuses: watch::Sender<LeadershipStatus>,
        _kept: Box<dyn std::any::Any + Send>,
    }

    fn shown(view: RunView) -> Shown {
        let (registry, job_handle) = (Arc::new(JobRegistry::default()), JobHandle::default());
        let (views, view) = watch::channel(view);
        let (statuses, status) = watch::channel(LeadershipStatus::Sure);
        let (ended, ending) = watch::channel(None);
        let commands = job_handle.open("infer", view, status);
        registry.add(JobEntry { job_handle, ended: ending, ..JobEntry::new(Digest([7; 32]), "run".into()) });
        Shown { registry, views, statuses, _kept: Box::new((commands, ended)) }
    }

    #[tokio::test]
    async fn the_port_shows_the_latest_view_and_keeps_it_from_strangers() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let word = "a word of more than 32 characters";
        std::fs::write(&file, format!("{word}\n")).unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let token = BearerToken::read(&file, HttpSettings::Configuration).unwrap();
        let any = "127.0.0.1:0".parse().unwrap();
        let server = HttpServer::open(any, Some(token), None, HttpSettings::Configuration).await.unwrap();
        let address = server.address();
        for (settings, remedy) in
            [(HttpSettings::Configuration, "write another master.http"), (HttpSettings::ViewFlags, "another --listen")]
        {
            let taken = HttpServer::open(address, None, None, settings).await.unwrap_err();
            assert!(taken.to_string().contains(remedy), "{taken}");
        }
        let shown = shown(RunView::default());
        let stop = CancellationToken::new();
        let serving = tokio::spawn(server.serve(shown.registry, stop.clone()));
        shown.views.send_replace(RunView { job: "j".into(), recorded_samples: 41, ..RunView::default() });

        assert_eq!(fetch(address, "/healthz", "").await, (200, "ok\n".into()));
        for guarded in ["/", "/status.json", "/metrics"] {
            let (code, body) = fetch(address, guarded, "").await;
            assert!(code == 401 && !body.contains("41"), "{guarded}: {code} {body}");
            let (code, body) = fetch(address, guarded, &format!("Authorization: Bearer {word}\r\n")).await;
            assert!(code == 200 && body.contains("41"), "{guarded}: {code} {body}");
        }
        assert_eq!(
            fetch(address, "/nothing", "").await.0,
            401,
            "an unauthenticated client does not learn which paths exist"
        );
        assert_eq!(fetch(address, "/nothing", &format!("Authorization: Bearer {word}\r\n")).await.0, 404);
        stop.cancel();
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn a_driver_that_hangs_or_has_lost_its_lead_is_not_healthy() {
        let shown = shown(RunView::default());
        assert_eq!(jobs::health(shown.registry.clone()).0, StatusCode::OK);
        let renewed = Instant::now().checked_sub(STALE + Duration::from_secs(30));
        shown.views.send_replace(RunView { renewed, ..RunView::default() });
        let (code, text) = jobs::health(shown.registry.clone());
        assert_eq!(code, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(text, "the scheduler has not moved for 60 s\n");
        shown.views.send_replace(RunView { renewed: Some(Instant::now()), ..RunView::default() });
        shown.statuses.send_replace(LeadershipStatus::Lost);
        assert_eq!(jobs::health(shown.registry).1, "another master leads\n");
    }
}
