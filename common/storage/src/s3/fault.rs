//! Meaning of an object store's refusal to a person.

use super::endpoint::Endpoint;
use crate::fault::{FaultKind, StorageFault};
use crate::http::chain;
use object_store::Error;

/// The failure of a request about `what`: an object's key or a prefix in `bucket`.
pub(super) fn of(endpoint: &Endpoint, bucket: &str, what: &str, error: &Error) -> StorageFault {
    let text = chain(error);
    let code = code(&text);
    let place = format!("`{what}` in bucket `{bucket}` of {} {}", endpoint.shown(), endpoint.named);
    let fault =
        |kind, reason: String, help: String| StorageFault::new(kind, format!("cannot read {place}: {reason}"), help);
    let keys = || format!("check {}", endpoint.check);
    match (error, code) {
        (_, Some("SignatureDoesNotMatch")) => {
            fault(FaultKind::Denied, "the secret key is wrong (SignatureDoesNotMatch)".into(), keys())
        }
        (_, Some("InvalidAccessKeyId")) => {
            fault(FaultKind::Denied, "the access key is not known there (InvalidAccessKeyId)".into(), keys())
        }
        (_, Some("RequestTimeTooSkewed")) => fault(
            FaultKind::Denied,
            "this host's clock and the store's differ too much (RequestTimeTooSkewed)".into(),
            "set this host's clock".into(),
        ),
        (Error::PermissionDenied { .. } | Error::Unauthenticated { .. }, code) | (_, code @ Some("AccessDenied")) => {
            let code = code.unwrap_or("AccessDenied");
            let help = format!("{}, and that this user may read the bucket", keys());
            fault(FaultKind::Denied, format!("access is denied ({code})"), help)
        }
        (_, Some("NoSuchBucket")) => fault(
            FaultKind::Missing,
            "there is no such bucket (NoSuchBucket)".into(),
            "check the path's bucket, and that the profile is the one of its store".into(),
        ),
        (Error::NotFound { .. }, _) => {
            fault(FaultKind::Missing, "nothing lies there".into(), "check the path, letter by letter".into())
        }
        (Error::Precondition { .. }, _) => changed(endpoint, bucket, what),
        (_, Some(code @ ("SlowDown" | "ServiceUnavailable" | "TooManyRequests"))) => fault(
            FaultKind::Unavailable,
            format!("the store throttles requests ({code})"),
            "try again when it is less busy; what was fetched so far is kept".into(),
        ),
        _ => fault(
            FaultKind::Unavailable,
            short(&text, code),
            format!("check that {} can be reached from this host (proxies: http_proxy, no_proxy)", endpoint.shown()),
        ),
    }
}

/// The object is not what the listing told.
pub(super) fn changed(endpoint: &Endpoint, bucket: &str, what: &str) -> StorageFault {
    StorageFault::new(
        FaultKind::Changed,
        format!("`{what}` in bucket `{bucket}` of {} {} changed while it was read", endpoint.shown(), endpoint.named),
        "let the upload end, then try again",
    )
}

/// The listing of `what` does not end.
pub(super) fn endless(endpoint: &Endpoint, bucket: &str, what: &str, reason: &str) -> StorageFault {
    StorageFault::new(
        FaultKind::Configuration,
        format!("cannot list `{what}` in bucket `{bucket}` of {} {}: {reason}", endpoint.shown(), endpoint.named),
        "name the folder of one model or data set; if it is one, the store is broken",
    )
}

/// The word by which S3 names an error.
fn code(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    code.chars().all(|c| c.is_ascii_alphanumeric()).then_some(code)
}

/// The cause without the request around it and without the answer's body.
fn short(text: &str, code: Option<&str>) -> String {
    if let Some(code) = code {
        return format!("the store answers {code}");
    }
    for begin in ["Server returned non-2xx status code: ", "HTTP error: "] {
        if let Some((_, rest)) = text.split_once(begin) {
            let line = rest.lines().next().unwrap_or_default();
            let line = line.split('<').next().unwrap_or_default().trim_end_matches([' ', ':']);
            let line: String = line.chars().take(200).collect();
            return if begin.starts_with("Server") { format!("the store answers {line}") } else { line };
        }
    }
    text.lines().next().unwrap_or_default().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_from_the_answer() {
        let text = "Generic S3 error: Server returned non-2xx status code: 503 Service Unavailable: <Error><Code>SlowDown</Code></Error>";
        assert_eq!(code(text), Some("SlowDown"));
        assert_eq!(code("<Code>a b</Code>"), None);
        assert_eq!(
            short("x: Server returned non-2xx status code: 500 Internal Server Error: <html>", None),
            "the store answers 500 Internal Server Error"
        );
        assert_eq!(short("x - HTTP error: client error: connection refused", None), "client error: connection refused");
    }
}
