//! The client: for `object_store` through its trait, for the hub as it is.

use super::connector::Connector;
use super::error_chain::chain;
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

/// Bytes of an answer at most, unless a range of more is asked for: a listing of a hub or a page of an object store.
const MOST_BYTES: u64 = 64 << 20;

/// A pool of connections.
#[derive(Clone)]
pub(crate) struct HttpStack {
    client: Client<Connector, HttpRequestBody>,
    connector: Connector,
}

impl HttpStack {
    /// With the proxies of the environment, and with the authorities that the system trusts or, instead, those in `bundle`,
    /// the file that a variable names.
    pub(crate) fn new(bundle: Option<(&'static str, &Path)>) -> Result<Self, StorageFault> {
        let trusted = match bundle {
            Some((_, path)) => rustls_native_certs::load_certs_from_paths(Some(path), None),
            None => rustls_native_certs::load_native_certs(),
        };
        if let Some((variable, path)) = bundle.filter(|_| trusted.certs.is_empty()) {
            return Err(StorageFault::new(
                FaultKind::Configuration,
                format!("cannot read certificates from {}", path.display()),
                format!("{variable} names a PEM file with the authorities to trust"),
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
        let connector = Connector { proxies: Arc::new(proxies()), tls: Arc::new(tls) };
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

    /// Sends a request and waits for the head of the answer, whose body is bounded.
    pub(crate) async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let most = asked_bytes(&request).unwrap_or(0).max(MOST_BYTES);
        let Ok(answered) = tokio::time::timeout(STALL, self.request(request)).await else {
            let late =
                std::io::Error::new(std::io::ErrorKind::TimedOut, format!("no answer within {} s", STALL.as_secs()));
            return Err(HttpError::new(HttpErrorKind::Timeout, late));
        };
        let response = answered.map_err(|error| {
            let kind = if error.is_connect() { HttpErrorKind::Connect } else { HttpErrorKind::Interrupted };
            HttpError::new(kind, std::io::Error::other(chain(&error)))
        })?;
        Ok(response.map(|body| HttpResponseBody::new(Watched::new(body, most))))
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

/// The length of the range that a request asks for.
fn asked_bytes(request: &HttpRequest) -> Option<u64> {
    let range = request.headers().get(http::header::RANGE)?.to_str().ok()?;
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)
}

/// The proxies of the environment. Names in small letters come first, as with curl, and an empty variable hides no other.
fn proxies() -> Matcher {
    proxies_of(|name| std::env::var(name).ok())
}

fn proxies_of(variable: impl Fn(&str) -> Option<String>) -> Matcher {
    let given = |names: [&str; 2]| names.into_iter().filter_map(&variable).find(|value| !value.trim().is_empty());
    let mut matcher = Matcher::builder();
    if let Some(all) = given(["all_proxy", "ALL_PROXY"]) {
        matcher = matcher.all(all);
    }
    if let Some(http) = given(["http_proxy", "HTTP_PROXY"]) {
        matcher = matcher.http(http);
    }
    if let Some(https) = given(["https_proxy", "HTTPS_PROXY"]) {
        matcher = matcher.https(https);
    }
    if let Some(none) = given(["no_proxy", "NO_PROXY"]) {
        matcher = matcher.no(none);
    }
    matcher.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_range_says_how_much_is_asked_for() {
        let asked = |range: &'static str| {
            let mut request = HttpRequest::new(HttpRequestBody::empty());
            request.headers_mut().insert(http::header::RANGE, http::HeaderValue::from_static(range));
            asked_bytes(&request)
        };
        assert_eq!(
            ["bytes=0-9", "bytes=5-5", "bytes=-5", "bytes=5-", "bytes=9-0"].map(asked),
            [Some(10), Some(1), None, None, None]
        );
    }

    #[test]
    fn an_empty_variable_hides_no_other() {
        let proxy = |variables: &[(&str, &str)], address: &'static str| {
            let known: BTreeMap<&str, &str> = variables.iter().copied().collect();
            let matcher = proxies_of(|name| known.get(name).map(|value| (*value).to_owned()));
            matcher.intercept(&http::Uri::from_static(address)).map(|proxy| proxy.uri().to_string())
        };
        let (small, large) = (("http_proxy", "http://small:1"), ("HTTP_PROXY", "http://large:2"));
        assert_eq!(proxy(&[small, ("HTTP_PROXY", "")], "http://host/").as_deref(), Some("http://small:1/"));
        assert_eq!(proxy(&[("http_proxy", ""), large], "http://host/").as_deref(), Some("http://large:2/"));
        assert_eq!(proxy(&[small, large], "http://host/").as_deref(), Some("http://small:1/"));
        assert_eq!(proxy(&[small, ("no_proxy", "host,other")], "http://host/"), None);
        assert_eq!(proxy(&[small], "https://host/"), None);
        assert_eq!(proxy(&[("ALL_PROXY", "http://all:3")], "https://host/").as_deref(), Some("http://all:3/"));
    }
}
