//! Telling an address something: one JSON text, posted.

use super::error_chain::chain;
use super::service::HttpStack;
use backon::Retryable as _;
use compass_common::backoff;
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode, Uri};
use object_store::client::{HttpRequest, HttpRequestBody};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// For all tries together.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Most of an answer that is read.
const MOST_ANSWER: usize = 64 << 10;

/// Reason why a text could not be posted. Addresses may hold secrets: only the host is named.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{host} {reason}")]
pub struct PostError {
    host: String,
    reason: String,
    /// Set if another try may help.
    passing: bool,
}

/// Posts `body` to `url` and gives back what is answered. Redirects are not followed; what may pass is tried again, for ten
/// seconds together.
///
/// # Errors
/// The address cannot be reached, does not answer in time, or refuses.
pub async fn post_json(url: &str, body: &str) -> Result<String, PostError> {
    let uri = url.parse::<Uri>().ok().filter(|uri| uri.host().is_some());
    let host = uri.as_ref().and_then(Uri::host).unwrap_or("the address").to_owned();
    let fault = |reason: String, passing| PostError { host: host.clone(), reason, passing };
    let uri = uri.ok_or_else(|| fault("is no http:// or https:// address".into(), false))?;
    let stack = HttpStack::new(None).map_err(|error| fault(error.message, false))?;
    let last = Mutex::new(None);
    let once = || async {
        let request = http::Request::builder()
            .method(Method::POST)
            .uri(uri.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(HttpRequestBody::from(body.to_owned()));
        let request: HttpRequest = request.map_err(|error| fault(error.to_string(), false))?;
        let response = stack.send(request).await.map_err(|error| {
            let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), chain);
            fault(format!("cannot be reached: {}", in_plain_words(&why)), true)
        })?;
        let status = response.status();
        let answer = response.into_body().bytes().await.unwrap_or_default();
        let answer =
            String::from_utf8_lossy(answer.get(..answer.len().min(MOST_ANSWER)).unwrap_or_default()).into_owned();
        if status.is_success() {
            return Ok(answer);
        }
        let passing = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        Err(fault(format!("answers {status}"), passing))
    };
    let waits = backoff::policy(Duration::from_millis(300), Duration::from_secs(3));
    let passes = |error: &PostError| {
        *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.reason.clone());
        error.passing
    };
    let tried = once.retry(waits).when(passes);
    tokio::time::timeout(TIMEOUT, tried).await.unwrap_or_else(|_| {
        let why = last.lock().unwrap_or_else(PoisonError::into_inner).take();
        let why = why.unwrap_or_else(|| "gives no answer".to_owned());
        Err(fault(format!("did not take it within {} s: it {why}", TIMEOUT.as_secs()), true))
    })
}

/// Returns the reason why an address cannot be reached, without the words of the layers that say so.
fn in_plain_words(why: &str) -> String {
    match why.contains("Connection refused") {
        true => "nothing listens there (connection refused)".to_owned(),
        false => why.split(" (os error ").next().unwrap_or(why).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_told_in_words() {
        let refused = "client error (Connect): tcp connect error: Connection refused (os error 111)";
        assert_eq!(in_plain_words(refused), "nothing listens there (connection refused)");
        assert_eq!(in_plain_words("No route to host (os error 113)"), "No route to host");
        assert_eq!(
            in_plain_words("invalid peer certificate: UnknownIssuer"),
            "invalid peer certificate: UnknownIssuer"
        );
    }
}
