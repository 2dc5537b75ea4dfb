//! Requests to the hub.

use crate::cache::{RangeReader, Sum};
use crate::fault::{FaultKind, StorageFault};
use crate::http::{HttpStack, chain};
use crate::location::{HubKind, HubRepository};
use crate::mark::{Listing, ObjectMark};
use crate::variables::Variables;
use async_trait::async_trait;
use backon::Retryable as _;
use bytes::Bytes;
use compass_common::backoff;
use compass_common::regular_file;
use http::header::{AUTHORIZATION, LOCATION, RANGE, RETRY_AFTER};
use http::{Method, StatusCode, Uri};
use object_store::client::{HttpRequest, HttpRequestBody, HttpResponse};
use serde_json::Value;
use std::ops::Range;
use std::time::Duration;

const DEFAULT_ENDPOINT: &str = "https://huggingface.co";
/// Redirects of one request; the hub's own answers need two.
const MOST_REDIRECTS: usize = 6;
/// Tries of a read.
const TRIES: usize = 6;
/// Tries of a listing: a person waits for it, and the name may be that of a directory, misspelt.
const LIST_TRIES: usize = 2;

/// A hub.
#[derive(Clone)]
pub(crate) struct Hub {
    http: HttpStack,
    endpoint: String,
    token: Option<String>,
}

impl Hub {
    pub(crate) fn new(variables: &Variables, http: &HttpStack) -> Result<Self, StorageFault> {
        let endpoint = variables.get("HF_ENDPOINT").unwrap_or(DEFAULT_ENDPOINT).trim_end_matches('/').to_owned();
        let is_url = endpoint.parse::<Uri>().is_ok_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.authority().is_some_and(|a| !a.as_str().contains('@'))
        });
        if !is_url {
            return Err(StorageFault::new(
                FaultKind::Configuration,
                "HF_ENDPOINT is not the address of a hub",
                "write https://HOST, such as the address of your mirror",
            ));
        }
        Ok(Self { http: http.clone(), endpoint, token: token(variables) })
    }

    /// Every file of a revision, with its size and checksum.
    pub(crate) async fn list(&self, repository: &HubRepository) -> Result<Listing, StorageFault> {
        let HubRepository { kind, repository: name, revision } = repository;
        let kind = match kind {
            HubKind::Model => "models",
            HubKind::Dataset => "datasets",
        };
        let revision_escaped = revision.replace('/', "%2F");
        let url = format!("{}/api/{kind}/{name}/revision/{revision_escaped}?blobs=true", self.endpoint);
        let what = format!("`{name}` at revision `{revision}`");
        let waits = backoff::policy(Duration::from_millis(200), Duration::from_secs(2)).take(LIST_TRIES - 1);
        let once = || async { self.get(&url, &what, None).await };
        let response = once.retry(Waits(waits.collect())).when(StorageFault::may_be_retried).await?;
        let bytes = response.into_body().bytes().await.map_err(|error| self.unavailable(&what, &chain(&error)))?;
        let odd = || self.unavailable(&what, "its answer is not a listing");
        let answer: Value = serde_json::from_slice(&bytes).map_err(|_| odd())?;
        let commit = answer.get("sha").and_then(Value::as_str).filter(|sha| is_plain(sha)).ok_or_else(odd)?;
        let mut listing = Listing { commit: Some(commit.to_owned()), ..Listing::default() };
        for file in answer.get("siblings").and_then(Value::as_array).ok_or_else(odd)? {
            let Some(path) = file.get("rfilename").and_then(Value::as_str).filter(|path| is_inside(path)) else {
                continue;
            };
            let lfs = file.get("lfs").filter(|lfs| lfs.is_object());
            let etag = lfs.and_then(|lfs| lfs.get("sha256").or_else(|| lfs.get("oid"))).or_else(|| file.get("blobId"));
            let etag = etag.and_then(Value::as_str).filter(|etag| is_plain(etag)).ok_or_else(odd)?;
            let size = lfs.and_then(|lfs| lfs.get("size")).or_else(|| file.get("size"));
            let bytes = size.and_then(Value::as_u64).ok_or_else(odd)?;
            listing.files.insert(path.to_owned(), ObjectMark { bytes, etag: Some(etag.to_owned()) });
        }
        Ok(listing)
    }

    /// Reads of one file of a commit.
    pub(crate) fn file(&self, repository: &HubRepository, commit: &str, name: &str, mark: &ObjectMark) -> HubFile {
        let path: Vec<String> = name.split('/').map(escaped).collect();
        let HubRepository { kind, repository, .. } = repository;
        let kind = if *kind == HubKind::Dataset { "datasets/" } else { "" };
        HubFile {
            hub: self.clone(),
            url: format!("{}/{kind}{repository}/resolve/{commit}/{}", self.endpoint, path.join("/")),
            what: format!("`{name}` of `{repository}`"),
            bytes: mark.bytes,
        }
    }

    /// A GET that follows redirects.
    async fn get(&self, url: &str, what: &str, range: Option<&Range<u64>>) -> Result<HttpResponse, StorageFault> {
        let mut uri: Uri = url.parse().map_err(|_| self.unavailable(what, "its name makes no address"))?;
        for _ in 0..MOST_REDIRECTS {
            let mut request = HttpRequest::new(HttpRequestBody::empty());
            *request.method_mut() = Method::GET;
            if let Some(range) = range
                && let Ok(value) = format!("bytes={}-{}", range.start, range.end - 1).parse()
            {
                request.headers_mut().insert(RANGE, value);
            }
            // A token is for the hub alone, not for where its files are kept.
            if let Some(token) = self.token.as_ref().filter(|_| self.is_own(&uri))
                && let Ok(value) = format!("Bearer {token}").parse()
            {
                request.headers_mut().insert(AUTHORIZATION, value);
            }
            *request.uri_mut() = uri.clone();
            let response = self.http.send(request).await.map_err(|error| self.unavailable(what, &chain(&error)))?;
            let status = response.status();
            if !status.is_redirection() {
                return if status.is_success() { Ok(response) } else { Err(self.refused(what, &response)) };
            }
            let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
            uri = target
                .and_then(|target| resolved(&uri, target))
                .ok_or_else(|| self.unavailable(what, "a redirect leads nowhere"))?;
        }
        Err(self.unavailable(what, "too many redirects"))
    }

    fn is_own(&self, uri: &Uri) -> bool {
        self.endpoint.parse::<Uri>().is_ok_and(|own| own.authority() == uri.authority() && own.scheme() == uri.scheme())
    }

    fn unavailable(&self, what: &str, reason: &str) -> StorageFault {
        StorageFault::new(
            FaultKind::Unavailable,
            format!("cannot read {what} from the hub {}: {reason}", self.endpoint),
            "check HF_ENDPOINT and the proxies (http_proxy, https_proxy, no_proxy); with HF_HUB_OFFLINE=1 only the local \
             cache is looked at",
        )
    }

    fn refused(&self, what: &str, response: &HttpResponse) -> StorageFault {
        let (status, hub) = (response.status(), &self.endpoint);
        let code = response.headers().get("x-error-code").and_then(|code| code.to_str().ok()).unwrap_or_default();
        let message = format!(
            "cannot read {what} from the hub {hub}: it answers {status}{}",
            if code.is_empty() { String::new() } else { format!(" ({code})") }
        );
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let help = match self.token {
                    Some(_) => "ask for access to the repository with the account of HF_TOKEN; check the name too",
                    None => "check the name; a private or gated repository needs HF_TOKEN",
                };
                StorageFault::new(FaultKind::Denied, message, help)
            }
            StatusCode::NOT_FOUND => {
                StorageFault::new(FaultKind::Missing, message, "check the name and the revision, letter by letter")
            }
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                let after = response.headers().get(RETRY_AFTER).and_then(|after| after.to_str().ok());
                let after = after.map_or(String::new(), |after| format!("; it asks to wait {after} s"));
                StorageFault::new(
                    FaultKind::Unavailable,
                    message + &after,
                    "try again; what was fetched so far is kept",
                )
            }
            _ => StorageFault::new(FaultKind::Configuration, message, "check HF_ENDPOINT"),
        }
    }
}

/// The token of the environment, or of the file that `hf auth login` writes.
fn token(variables: &Variables) -> Option<String> {
    if let Some((_, token)) = variables.first(&["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"]) {
        return Some(token.trim().to_owned());
    }
    let path = variables.get("HF_TOKEN_PATH").map(std::path::PathBuf::from).or_else(|| {
        let home = variables.get("HF_HOME").map(std::path::PathBuf::from);
        let usual = || Some(std::path::Path::new(variables.get("HOME")?).join(".cache/huggingface"));
        Some(home.or_else(usual)?.join("token"))
    })?;
    let token = regular_file::read_text(&path, regular_file::SMALL).ok()?;
    Some(token.trim().to_owned()).filter(|token| !token.is_empty())
}

/// Returns whether a name is a checksum or a commit, and no path.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// Returns whether a path of a listing stays inside its folder.
fn is_inside(path: &str) -> bool {
    path.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']))
}

fn escaped(part: &str) -> String {
    part.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect()
}

fn resolved(from: &Uri, target: &str) -> Option<Uri> {
    if target.starts_with('/') {
        return Uri::builder()
            .scheme(from.scheme()?.clone())
            .authority(from.authority()?.clone())
            .path_and_query(target)
            .build()
            .ok();
    }
    target.parse().ok().filter(|uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https")))
}

/// Waits between tries, drawn beforehand.
struct Waits(Vec<Duration>);

impl backon::BackoffBuilder for Waits {
    type Backoff = std::vec::IntoIter<Duration>;

    fn build(self) -> Self::Backoff {
        self.0.into_iter()
    }
}

/// The checksum that a listing tells.
pub(crate) fn sum_of(mark: &ObjectMark) -> Option<Sum> {
    let etag = mark.etag.as_deref()?;
    match etag.len() {
        64 => Some(Sum::Sha256(etag.to_owned())),
        40 => Some(Sum::GitBlob(etag.to_owned())),
        _ => None,
    }
}

/// One file of a repository.
pub(crate) struct HubFile {
    hub: Hub,
    url: String,
    what: String,
    bytes: u64,
}

#[async_trait]
impl RangeReader for HubFile {
    async fn read(&self, range: Range<u64>) -> Result<Bytes, StorageFault> {
        let waits = backoff::policy(Duration::from_millis(200), Duration::from_secs(20)).take(TRIES - 1);
        let once = || async {
            let response = self.hub.get(&self.url, &self.what, Some(&range)).await?;
            let is_whole = range.start == 0 && range.end == self.bytes;
            if response.status() != StatusCode::PARTIAL_CONTENT && !is_whole {
                return Err(self.hub.unavailable(&self.what, "it does not serve ranges"));
            }
            let failed = |error: object_store::client::HttpError| self.hub.unavailable(&self.what, &chain(&error));
            let bytes = response.into_body().bytes().await.map_err(failed)?;
            if bytes.len() as u64 != range.end - range.start {
                let reason = format!("{} of {} bytes came", bytes.len(), range.end - range.start);
                return Err(self.hub.unavailable(&self.what, &reason));
            }
            Ok(bytes)
        };
        once.retry(Waits(waits.collect())).when(StorageFault::may_be_retried).await
    }
}
