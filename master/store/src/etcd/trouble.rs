//! Meaning of an error of the client: ask again, or give up, and the error to return.

use crate::backend::Trouble;
use crate::error::StoreError;
use etcd_client::Error;
use std::error::Error as _;
use tonic::{Code, Status};

/// An error in one line: the client's own text repeats the status three times.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Cause(String);

/// Sorts an error of a request to a member of the store at `endpoints`.
pub(super) fn sort(error: &Error, endpoints: &str) -> Trouble {
    let endpoints = endpoints.to_owned();
    let text = words(error);
    let source = || Box::new(Cause(text.clone()));
    if is_tls(&text) {
        return Trouble::Final(StoreError::Tls { endpoints, source: source() });
    }
    match error {
        Error::GRpcStatus(status) => match (status.code(), status.message()) {
            (Code::ResourceExhausted, message) if message.contains("space exceeded") => {
                Trouble::NoReply(StoreError::Full { endpoints })
            }
            (Code::NotFound, message) if message.contains("lease not found") => Trouble::LeaseGone,
            // Rights were changed while the request was under way.
            (Code::InvalidArgument, message) if message.contains("auth store is old") => {
                Trouble::NoReply(StoreError::Unreachable { endpoints, source: source() })
            }
            (Code::Unauthenticated | Code::PermissionDenied, _) => {
                Trouble::Final(StoreError::Refused { endpoints, source: source() })
            }
            (Code::InvalidArgument | Code::FailedPrecondition, message)
                if message.contains("authentication") || message.contains("user name is empty") =>
            {
                Trouble::Final(StoreError::Refused { endpoints, source: source() })
            }
            (
                Code::InvalidArgument
                | Code::FailedPrecondition
                | Code::OutOfRange
                | Code::Unimplemented
                | Code::NotFound
                | Code::AlreadyExists,
                _,
            ) => Trouble::Final(StoreError::Rejected { endpoints, source: source() }),
            // Unavailable, cancelled (the client's own timeout), unknown (a torn connection): whatever it was, it may pass.
            _ => Trouble::NoReply(StoreError::Unreachable { endpoints, source: source() }),
        },
        Error::LeaseKeepAliveError(message) if message.contains("not found") => Trouble::LeaseGone,
        Error::InvalidArgs(_) | Error::InvalidUri(_) | Error::InvalidMetadataValue(_) => {
            Trouble::Final(StoreError::Rejected { endpoints, source: source() })
        }
        _ => Trouble::NoReply(StoreError::Unreachable { endpoints, source: source() }),
    }
}

/// No reply within the time of a request.
pub(super) fn late(endpoints: &str) -> Trouble {
    let source = Box::new(Cause("no reply within a second".into()));
    Trouble::NoReply(StoreError::Unreachable { endpoints: endpoints.into(), source })
}

fn words(error: &Error) -> String {
    match error {
        Error::GRpcStatus(status) => status_words(status),
        Error::TransportError(error) => chain(error),
        other => other.to_string(),
    }
}

fn status_words(status: &Status) -> String {
    let mut text = status.message().to_owned();
    if let Some(source) = status.source() {
        let causes = chain(source);
        if !causes.contains(&text) {
            text.push_str(": ");
        } else {
            text.clear();
        }
        text.push_str(&causes);
    }
    if text.is_empty() { status.code().description().to_owned() } else { text }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        source = cause.source();
    }
    text
}

/// Returns whether the two sides failed to agree on encryption: no other try would do better.
fn is_tls(text: &str) -> bool {
    ["certificate", "UnknownIssuer", "NotValidForName", "HandshakeFailure", "InvalidContentType", "corrupt message"]
        .iter()
        .any(|sign| text.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: Code, message: &str) -> Trouble {
        sort(&Error::GRpcStatus(Status::new(code, message)), "h:1")
    }

    #[test]
    fn what_may_pass_is_asked_again_and_what_will_not_is_not() {
        assert!(matches!(status(Code::Unavailable, "tcp connect error"), Trouble::NoReply(_)));
        assert!(matches!(status(Code::Cancelled, "Timeout expired"), Trouble::NoReply(_)));
        assert!(matches!(status(Code::Unknown, "transport error"), Trouble::NoReply(_)));
        let full = status(Code::ResourceExhausted, "etcdserver: mvcc: database space exceeded");
        assert!(matches!(full, Trouble::NoReply(StoreError::Full { .. })));
        assert!(matches!(status(Code::NotFound, "etcdserver: requested lease not found"), Trouble::LeaseGone));
        let wrong = "etcdserver: authentication failed, invalid user ID or password";
        assert!(matches!(status(Code::InvalidArgument, wrong), Trouble::Final(StoreError::Refused { .. })));
        let denied = status(Code::PermissionDenied, "etcdserver: permission denied");
        assert!(matches!(denied, Trouble::Final(StoreError::Refused { .. })));
        let many = status(Code::InvalidArgument, "etcdserver: too many operations in txn request");
        assert!(matches!(many, Trouble::Final(StoreError::Rejected { .. })));
        let issuer = status(Code::Unavailable, "invalid peer certificate: UnknownIssuer");
        assert!(matches!(issuer, Trouble::Final(StoreError::Tls { .. })));
    }
}
