//! An object store that speaks S3: path style, GET with ranges and If-Match, HEAD, LIST in pages, signatures.

use crate::answer::Answer;
use crate::server::{Request, Server, decoded};
use crate::signature::{hex, refusal};
use ring::digest;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Keys on one page of a listing: few, so that listings have several.
const PAGE: usize = 3;

/// Fault of the next reads of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `503 SlowDown`.
    SlowDown,
    /// The connection ends after this many bytes of the body.
    Drop(usize),
    /// Every answer has at most this many bytes and declares that length: the stored object was cut off.
    Truncate(usize),
}

/// Form of a listing without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endless {
    /// Every page is empty and names itself as the next.
    SamePage,
    /// Every page has other keys.
    OtherKeys,
    /// The first page is never done.
    LongPage,
}

#[derive(Default)]
struct State {
    /// By bucket and key.
    objects: BTreeMap<(String, String), Arc<Vec<u8>>>,
    /// The fault, and how often it is still to happen.
    fault: Option<(Fault, usize)>,
    /// Reads that go well before that.
    spared: usize,
    endless: Option<Endless>,
}

/// The server; it ends when it is dropped.
pub struct ObjectServer {
    server: Server,
    state: Arc<Mutex<State>>,
}

impl ObjectServer {
    /// A store with one user.
    ///
    /// # Errors
    /// No port is free.
    pub fn start(access: &str, secret: &str) -> io::Result<Self> {
        let state = Arc::new(Mutex::new(State::default()));
        let (shared, access, secret) = (state.clone(), access.to_owned(), secret.to_owned());
        let server = Server::start(move |request| {
            if let Some(code) = refusal(request, &access, &secret) {
                return error(403, code);
            }
            shared.lock().unwrap_or_else(PoisonError::into_inner).answer(request)
        })?;
        Ok(Self { server, state })
    }

    /// `http://host:port`.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Every request so far: method, target and range.
    pub fn requests(&self) -> Vec<String> {
        self.server.requests()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an object; its bucket is there from then on.
    pub fn put(&self, bucket: &str, key: &str, content: impl Into<Vec<u8>>) {
        self.state().objects.insert((bucket.to_owned(), key.to_owned()), Arc::new(content.into()));
    }

    /// Puts the files of a folder below a prefix.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn put_folder(&self, bucket: &str, prefix: &str, folder: &Path) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_file() {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                self.put(bucket, &format!("{prefix}/{name}"), std::fs::read(path)?);
            }
        }
        Ok(())
    }

    /// The next `times` reads of objects go wrong.
    pub fn break_reads(&self, fault: Fault, times: usize) {
        self.break_reads_after(0, fault, times);
    }

    /// As [`Self::break_reads`] after `spared` reads that go well; those that do not are answered a second later.
    pub fn break_reads_after(&self, spared: usize, fault: Fault, times: usize) {
        let mut state = self.state();
        state.spared = spared;
        state.fault = Some((fault, times));
    }

    /// No listing ends from now on.
    pub fn list_endlessly(&self, endless: Endless) {
        self.state().endless = Some(endless);
    }

    /// Reads go well again.
    pub fn mend(&self) {
        self.state().fault = None;
    }
}

impl State {
    fn answer(&mut self, request: &Request) -> Answer {
        let path = decoded(request.path.trim_start_matches('/'));
        let (bucket, key) = path.split_once('/').unwrap_or((&path, ""));
        if !self.objects.keys().any(|(known, _)| known == bucket) {
            return error(404, "NoSuchBucket");
        }
        if key.is_empty() {
            return self.list(bucket, request);
        }
        let Some(content) = self.objects.get(&(bucket.to_owned(), key.to_owned())).cloned() else {
            return error(404, "NoSuchKey");
        };
        let etag = etag(&content);
        if request.header("if-match").is_some_and(|wanted| wanted != etag) {
            return error(412, "PreconditionFailed");
        }
        let range = request.range(content.len());
        let with_meta = |answer: Answer| {
            answer
                .with("etag", &*etag)
                .with("last-modified", "Tue, 02 Jan 2024 03:04:05 GMT")
                .with("accept-ranges", "bytes")
        };
        let mut answer = with_meta(Answer::content(&content, range.clone()));
        if request.method == "GET"
            && let Some((fault, left)) = &mut self.fault
            && *left > 0
        {
            if self.spared > 0 {
                self.spared -= 1;
                return answer;
            }
            *left -= 1;
            match *fault {
                Fault::SlowDown => return error(503, "SlowDown"),
                Fault::Drop(bytes) => answer.cut = Some(bytes),
                Fault::Truncate(bytes) => {
                    let kept = content.get(..bytes.min(content.len())).unwrap_or_default();
                    answer = with_meta(Answer::content(kept, request.range(kept.len())));
                    answer.delay = Duration::from_secs(1);
                }
            }
        }
        answer
    }

    fn list(&self, bucket: &str, request: &Request) -> Answer {
        let prefix = request.parameter("prefix").unwrap_or_default();
        let after = request.parameter("continuation-token").unwrap_or_default();
        if let Some(endless) = self.endless {
            return endless.page(&prefix, &after);
        }
        let found =
            self.objects.iter().filter(|((known, key), _)| known == bucket && key.starts_with(&prefix) && *key > after);
        let found: Vec<_> = found.take(PAGE + 1).collect();
        let is_more = found.len() > PAGE;
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult><Name>{bucket}</Name><IsTruncated>{is_more}</IsTruncated>"
        );
        for ((_, key), content) in found.iter().take(PAGE) {
            xml.push_str(&format!(
                "<Contents><Key>{key}</Key><LastModified>2024-01-02T03:04:05.000Z</LastModified><ETag>&quot;{}&quot;</ETag>\
                 <Size>{}</Size><StorageClass>STANDARD</StorageClass></Contents>",
                etag(content).trim_matches('"'),
                content.len()
            ));
        }
        if let Some(((_, last), _)) = found.get(PAGE - 1).filter(|_| is_more) {
            xml.push_str(&format!("<NextContinuationToken>{last}</NextContinuationToken>"));
        }
        Answer::new(200, xml + "</ListBucketResult>").with("content-type", "application/xml")
    }
}

impl Endless {
    fn page(self, prefix: &str, after: &str) -> Answer {
        const KEYS: usize = 20_000;
        let first: usize = after.parse().unwrap_or(0);
        let mut xml = String::from("<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>true</IsTruncated>");
        if self == Self::OtherKeys {
            let object = |key: usize| {
                format!(
                    "<Contents><Key>{prefix}{key}</Key><LastModified>2024-01-02T03:04:05.000Z</LastModified><Size>1</Size></Contents>"
                )
            };
            xml.extend((first..first + KEYS).map(object));
        }
        let next = if self == Self::OtherKeys { first + KEYS } else { 1 };
        xml.push_str(&format!("<NextContinuationToken>{next}</NextContinuationToken>"));
        let end = if self == Self::LongPage { "" } else { "</ListBucketResult>" };
        let answer = Answer::new(200, xml + end).with("content-type", "application/xml");
        Answer { endless: self == Self::LongPage, ..answer }
    }
}

fn etag(content: &[u8]) -> String {
    format!("\"{}\"", &hex(digest::digest(&digest::SHA256, content).as_ref())[..32])
}

fn error(status: u16, code: &str) -> Answer {
    let xml = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{code}</Message></Error>");
    Answer::new(status, xml).with("content-type", "application/xml")
}
