//! A mirror of the hub: listings with checksums, files behind redirects, ranges.

use crate::answer::Answer;
use crate::server::{Request, Server, decoded};
use crate::signature::hex;
use crate::tls::Certificate;
use ring::digest;
use serde_json::json;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// From this size on a file is kept elsewhere, as the hub keeps large ones.
const LARGE: usize = 10_000;

#[derive(Default)]
struct State {
    /// By repository and name.
    files: BTreeMap<(String, String), Arc<Vec<u8>>>,
    /// Bytes of a large file after which the connection ends, and how often that is still to happen.
    cut: Option<(usize, usize)>,
    /// Number of reads of large files that are answered; the others wait.
    answered: Option<usize>,
    /// Set if large files arrive with a byte that is wrong.
    is_damaged: bool,
    /// Values of `Authorization` that were sent to the host of large files.
    leaked: Vec<String>,
}

/// The mirror; it ends when it is dropped.
pub struct HubMirror {
    server: Server,
    state: Arc<Mutex<State>>,
    /// Server of large files: another host, as far as a client can tell.
    large: Server,
}

/// Longer than any test waits.
const FOR_GOOD: Duration = Duration::from_secs(3600);

/// The commit that every revision stands for.
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

impl HubMirror {
    /// # Errors
    /// No port is free.
    pub fn start() -> io::Result<Self> {
        Self::start_as(None)
    }

    /// Over TLS, with this certificate. Large files are kept at `large`, which a proxy knows.
    ///
    /// # Errors
    /// No port is free.
    pub fn start_tls(certificate: Certificate, large: &str) -> io::Result<Self> {
        Self::start_as(Some((certificate, large.to_owned())))
    }

    fn start_as(tls: Option<(Certificate, String)>) -> io::Result<Self> {
        let (certificate, named) = tls.unzip();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        let large = Server::start_as(certificate.clone(), move |request| {
            shared.lock().unwrap_or_else(PoisonError::into_inner).large(request)
        })?;
        let (shared, elsewhere) = (state.clone(), named.unwrap_or_else(|| large.url()));
        let server = Server::start_as(certificate, move |request| {
            shared.lock().unwrap_or_else(PoisonError::into_inner).answer(request, &elsewhere)
        })?;
        Ok(Self { server, state, large })
    }

    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Returns the addresses of the hub itself and of its large files, for a proxy that gives them names.
    pub fn addresses(&self) -> (SocketAddr, SocketAddr) {
        (self.server.address, self.large.address)
    }

    /// The commit of every repository.
    pub fn commit(&self) -> &'static str {
        COMMIT
    }

    /// Every request so far, to either host.
    pub fn requests(&self) -> Vec<String> {
        self.server.requests().into_iter().chain(self.large.requests()).collect()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the files of a folder into a repository.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn put_folder(&self, repository: &str, folder: &Path) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_file() {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                self.state().files.insert((repository.to_owned(), name), Arc::new(std::fs::read(path)?));
            }
        }
        Ok(())
    }

    /// Puts one file into a repository; that of a data set is `datasets/owner/name`.
    pub fn put(&self, repository: &str, name: &str, content: impl Into<Vec<u8>>) {
        self.state().files.insert((repository.to_owned(), name.to_owned()), Arc::new(content.into()));
    }

    /// Ends the next `times` reads of large files after this many bytes.
    pub fn cut_large(&self, bytes: usize, times: usize) {
        self.state().cut = Some((bytes, times));
    }

    /// Answers this many more reads of large files; further ones wait, for good if they come before [`Self::release_large`].
    pub fn hold_large_after(&self, reads: usize) {
        self.state().answered = Some(reads);
    }

    /// Reads of large files are answered again.
    pub fn release_large(&self) {
        self.state().answered = None;
    }

    /// Every read of a large file so far, with its range.
    pub fn large_reads(&self) -> Vec<String> {
        self.large.requests()
    }

    /// Sets whether large files arrive damaged.
    pub fn damage_large(&self, is_damaged: bool) {
        self.state().is_damaged = is_damaged;
    }

    /// Returns the values of `Authorization` that the host of large files was sent.
    pub fn leaked(&self) -> Vec<String> {
        self.state().leaked.clone()
    }
}

impl State {
    fn answer(&self, request: &Request, elsewhere: &str) -> Answer {
        let path = decoded(request.path.trim_start_matches('/'));
        if let Some(rest) = path.strip_prefix("api/") {
            // Data sets are kept as `datasets/owner/name`, which is how their files are asked for.
            let rest = rest.strip_prefix("models/").unwrap_or(rest);
            let Some((repository, revision)) = rest.split_once("/revision/") else { return missing("RepoNotFound") };
            let files: Vec<_> = self.files.iter().filter(|((known, _), _)| known == repository).collect();
            if files.is_empty() {
                return Answer::new(401, "").with("x-error-code", "RepoNotFound");
            }
            if revision != "main" && revision != COMMIT {
                return missing("RevisionNotFound");
            }
            let siblings: Vec<_> = files.iter().map(|((_, name), content)| sibling(name, content)).collect();
            return Answer::new(200, json!({"sha": COMMIT, "siblings": siblings}).to_string());
        }
        let Some((repository, name)) = path.split_once(&format!("/resolve/{COMMIT}/")) else {
            return missing("EntryNotFound");
        };
        let Some(content) = self.files.get(&(repository.to_owned(), name.to_owned())) else {
            return missing("EntryNotFound");
        };
        if content.len() >= LARGE {
            return Answer::new(302, "").with("location", format!("{elsewhere}/{repository}/{name}?signed=hunter2"));
        }
        Answer::content(content, request.range(content.len()))
    }

    fn large(&mut self, request: &Request) -> Answer {
        self.leaked.extend(request.header("authorization").map(str::to_owned));
        let path = decoded(request.path.trim_start_matches('/'));
        let found = self.files.iter().find(|((repository, name), _)| format!("{repository}/{name}") == path);
        let Some(content) = found.map(|(_, content)| content.clone()) else { return missing("EntryNotFound") };
        let mut answer = Answer::content(&content, request.range(content.len()));
        if self.is_damaged
            && let Some(byte) = answer.body.last_mut()
        {
            *byte ^= 1;
        }
        match &mut self.answered {
            Some(0) => answer.delay = FOR_GOOD,
            Some(left) => *left -= 1,
            None => {}
        }
        if let Some((bytes, left)) = &mut self.cut
            && *left > 0
        {
            *left -= 1;
            answer.cut = Some(*bytes);
        }
        answer
    }
}

fn sibling(name: &str, content: &[u8]) -> serde_json::Value {
    let blob = [format!("blob {}\0", content.len()).as_bytes(), content].concat();
    let git = hex(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, &blob).as_ref());
    let mut file = json!({"rfilename": name, "size": content.len(), "blobId": git});
    if content.len() >= LARGE {
        let sha256 = hex(digest::digest(&digest::SHA256, content).as_ref());
        file["lfs"] = json!({"sha256": sha256, "size": content.len(), "pointerSize": 134});
    }
    file
}

fn missing(code: &str) -> Answer {
    Answer::new(404, "").with("x-error-code", code)
}
