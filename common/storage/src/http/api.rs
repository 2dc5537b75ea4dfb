//! Asking a service: one request, one answer, each within bounds. Redirects are given back, never followed: what is sent
//! along with a request is for its host alone.

use super::error_chain::chain;
use super::service::HttpStack;
use crate::fault::StorageFault;
use bytes::Bytes;
use compass_types::secret::Secret;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Uri};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use object_store::client::HttpRequestBody;
use std::error::Error;
use std::time::Duration;

/// A client with a pool of connections.
#[derive(Clone, Debug)]
pub struct ApiClient {
    stack: HttpStack,
}

/// A request.
#[derive(Clone, Debug)]
pub struct ApiRequest<'r> {
    pub url: &'r str,
    /// Their values may be secrets.
    pub headers: &'r [(String, Secret)],
    /// JSON that is posted.
    pub body: String,
    /// For all of it, from the first byte that is sent to the last that is read.
    pub timeout: Duration,
    /// Bytes of an answer beyond which it is not read.
    pub most: usize,
}

/// A whole answer, of whatever status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiAnswer {
    pub status: u16,
    /// `Retry-After` and `Location`, by their names in lower case.
    pub retry_after: Option<String>,
    pub location: Option<String>,
    pub body: Bytes,
}

/// Reason why there is no whole answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The request cannot be made at all.
    #[error("cannot make the request: {0}")]
    Malformed(String),
    /// No connection, so that nothing was asked.
    #[error("cannot connect: {0}")]
    Unreachable(String),
    /// The connection ended before the answer did.
    #[error("the answer was cut off: {0}")]
    Cut(String),
    #[error("no whole answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// It went on and on.
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
}

impl ApiClient {
    /// With the proxies and the trusted authorities of the environment.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub fn new() -> Result<Self, StorageFault> {
        Ok(Self { stack: HttpStack::new(None)? })
    }

    /// Posts a request and reads the answer.
    ///
    /// # Errors
    /// There is no whole answer.
    pub async fn post(&self, request: ApiRequest<'_>) -> Result<ApiAnswer, ApiError> {
        self.ask(Method::POST, request).await
    }

    /// Gets what lies at the address of a request, without its body.
    ///
    /// # Errors
    /// There is no whole answer.
    pub async fn get(&self, request: ApiRequest<'_>) -> Result<ApiAnswer, ApiError> {
        self.ask(Method::GET, request).await
    }

    async fn ask(&self, method: Method, request: ApiRequest<'_>) -> Result<ApiAnswer, ApiError> {
        let timeout = request.timeout;
        match tokio::time::timeout(timeout, self.exchange(method, request)).await {
            Ok(answered) => answered,
            Err(_) => Err(ApiError::TimedOut(timeout)),
        }
    }

    async fn exchange(&self, method: Method, request: ApiRequest<'_>) -> Result<ApiAnswer, ApiError> {
        let malformed = |error: &(dyn Error + 'static)| ApiError::Malformed(chain(error));
        let uri: Uri = request.url.parse().map_err(|error: http::uri::InvalidUri| malformed(&error))?;
        let body = HttpRequestBody::from(request.body);
        let mut sent = http::Request::builder().method(method).uri(uri).body(body).map_err(|e| malformed(&e))?;
        sent.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in request.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| malformed(&error))?;
            let mut value = HeaderValue::from_str(value.expose()).map_err(|error| malformed(&error))?;
            value.set_sensitive(true);
            sent.headers_mut().insert(name, value);
        }
        let response = self.stack.request(sent).await.map_err(|error| match error.is_connect() {
            true => ApiError::Unreachable(chain(&error)),
            false => ApiError::Cut(chain(&error)),
        })?;
        let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (status, retry_after, location) = (response.status().as_u16(), text("retry-after"), text("location"));
        let most = request.most;
        let body = match Limited::new(response.into_body(), most).collect().await {
            Ok(collected) => collected.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return Err(ApiError::TooLong(most)),
            Err(error) => return Err(ApiError::Cut(chain(&*error))),
        };
        Ok(ApiAnswer { status, retry_after, location, body })
    }
}
