//! AWS Signature Version 4, checked as a store checks it.
//!
//! Written from the description in "Authenticating Requests (AWS Signature Version 4)" of the S3 API Reference, apart from
//! what signs: a mistake there is no agreement here.

use crate::server::Request;
use ring::{digest, hmac};

/// Reason why a signature is refused, by S3's code.
pub(crate) fn refusal(request: &Request, access: &str, secret: &str) -> Option<&'static str> {
    let Some(fields) = request.header("authorization").and_then(|value| value.strip_prefix("AWS4-HMAC-SHA256 ")) else {
        return Some("AccessDenied");
    };
    let field = |name: &str| {
        fields.split(',').find_map(|field| field.trim().strip_prefix(name)?.strip_prefix('=')).unwrap_or_default()
    };
    let scope: Vec<&str> = field("Credential").split('/').collect();
    let [key, date, region, service, _] = scope.as_slice() else { return Some("AuthorizationHeaderMalformed") };
    if *key != access {
        return Some("InvalidAccessKeyId");
    }
    let time = request.header("x-amz-date").unwrap_or_default();
    let names = field("SignedHeaders");
    let is_right = signature(request, secret, time, [date, region, service], names) == field("Signature");
    (!is_right).then_some("SignatureDoesNotMatch")
}

/// The signature of a request of which the headers in `names` count.
pub(crate) fn signature(request: &Request, secret: &str, time: &str, scope: [&str; 3], names: &str) -> String {
    let mut pairs: Vec<&str> = request.query.split('&').filter(|pair| !pair.is_empty()).collect();
    pairs.sort_unstable();
    let signed: String =
        names.split(';').map(|name| format!("{name}:{}\n", request.header(name).unwrap_or_default())).collect();
    let canonical = format!(
        "{}\n{}\n{}\n{signed}\n{names}\n{}",
        request.method,
        request.path,
        pairs.join("&"),
        request.header("x-amz-content-sha256").unwrap_or_default()
    );
    let [date, region, service] = scope;
    let text = format!(
        "AWS4-HMAC-SHA256\n{time}\n{date}/{region}/{service}/aws4_request\n{}",
        hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref())
    );
    let mut key = format!("AWS4{secret}").into_bytes();
    for part in [date, region, service, "aws4_request"] {
        key = sign(&key, part.as_bytes());
    }
    hex(&sign(&key, text.as_bytes()))
}

fn sign(key: &[u8], text: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text).as_ref().to_vec()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
