//! The client: for `object_store` through its trait, for the hub as it is.

use super::connector::Connector;
use super::stall::{STALL, Watched};
use crate::fault::{FaultKind, StorageFault};
use async_trait::async_trait;
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody,
    HttpService,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A pool of connections.
#[derive(Clone)]
pub(crate) struct HttpStack {
    client: Client<Connector, HttpRequestBody>,
    connector: Connector,
}

impl HttpStack {
    /// With the proxies of the environment, and with the authorities that the system trusts or, instead, those in `bundle`.
    pub(crate) fn new(bundle: Option<&Path>) -> Result<Self, StorageFault> {
        let trusted = match bundle {
            Some(path) => rustls_native_certs::load_certs_from_paths(Some(path), None),
            None => rustls_native_certs::load_native_certs(),
        };
        if let Some(path) = bundle.filter(|_| trusted.certs.is_empty()) {
            return Err(StorageFault::new(
                FaultKind::Configuration,
                format!("cannot read certificates from {}", path.display()),
                "AWS_CA_BUNDLE names a PEM file with the authorities to trust",
            ));
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(trusted.certs);
        let versions =
            ClientConfig::builder_with_provider(Arc::new(default_provider())).with_safe_default_protocol_versions();
        let versions = versions.map_err(|error| {
            StorageFault::new(FaultKind::Configuration, format!("cannot set up TLS: {error}"), "report this")
        })?;
        let tls = versions.with_root_certificates(roots).with_no_client_auth();
        let connector = Connector { proxies: Arc::new(Matcher::from_env()), tls: Arc::new(tls) };
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(Duration::from_secs(20))
            .pool_timer(TokioTimer::new())
            .build(connector.clone());
        Ok(Self { client, connector })
    }

    /// Sends a request and waits for the head of the answer, for however long that takes.
    pub(super) async fn request(&self, mut request: HttpRequest) -> Result<http::Response<Incoming>, ClientError> {
        let uri = request.uri().clone();
        if let Some(proxy) = self.connector.proxy(&uri).filter(|_| uri.scheme_str() == Some("http"))
            && let Some(word) = proxy.basic_auth()
        {
            request.headers_mut().insert(http::header::PROXY_AUTHORIZATION, word.clone());
        }
        self.client.request(request).await
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let Ok(answered) = tokio::time::timeout(STALL, self.request(request)).await else {
            let late =
                std::io::Error::new(std::io::ErrorKind::TimedOut, format!("no answer within {} s", STALL.as_secs()));
            return Err(HttpError::new(HttpErrorKind::Timeout, late));
        };
        let response = answered.map_err(|error| {
            let kind = if error.is_connect() { HttpErrorKind::Connect } else { HttpErrorKind::Interrupted };
            HttpError::new(kind, std::io::Error::other(chain(&error)))
        })?;
        Ok(response.map(|body| HttpResponseBody::new(Watched::new(body))))
    }
}

impl std::fmt::Debug for HttpStack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HttpStack")
    }
}

#[async_trait]
impl HttpService for HttpStack {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        self.send(request).await
    }
}

impl HttpConnector for HttpStack {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

/// An error with its causes.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let (mut text, mut source) = (error.to_string(), error.source());
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    text
}
