//! A server: a thread that accepts, a thread for each connection, requests with bodies of a known length.

use crate::answer::Answer;
use crate::tls::Certificate;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Request of a client.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// As sent, without the query.
    pub(crate) path: String,
    pub(crate) query: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a parameter of the query, decoded.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let pair = self.query.split('&').find_map(|pair| pair.split_once('=').filter(|(known, _)| *known == name));
        pair.map(|(_, value)| decoded(value))
    }

    /// `bytes=a-b` with both ends, as the half-open range of a content of `length` bytes.
    pub(crate) fn range(&self, length: usize) -> Option<std::ops::Range<usize>> {
        let (first, last) = self.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last && first < length).then(|| first..(last + 1).min(length))
    }
}

/// Undoes percent-encoding.
pub(crate) fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Bytes of a body.
const MOST_BODY: usize = 16 << 20;

type Handler = dyn Fn(&Request) -> Answer + Send + Sync;

/// Listens until it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    is_over: Arc<AtomicBool>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start(handler: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> io::Result<Self> {
        Self::start_as(None, handler)
    }

    /// With a certificate: over TLS.
    pub(crate) fn start_as(
        certificate: Option<Certificate>,
        handler: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (is_over, requests) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (over, seen, handler) = (is_over.clone(), requests.clone(), Arc::new(handler) as Arc<Handler>);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let (seen, handler, certificate) = (seen.clone(), handler.clone(), certificate.clone());
                std::thread::spawn(move || {
                    let socket = stream.try_clone().ok()?;
                    match certificate {
                        Some(certificate) => serve(certificate.accept(stream).ok()?, &socket, &seen, &*handler),
                        None => serve(stream, &socket, &seen, &*handler),
                    }
                });
            }
        });
        Ok(Self { address, is_over, requests })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Method and target of every request so far, with its range.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
    }
}

/// Answers requests of one connection until it ends; an error is the client's.
fn serve(stream: impl Read + Write, socket: &TcpStream, seen: &Mutex<Vec<String>>, handler: &Handler) -> Option<()> {
    // Clients of these tests wait for an answer before they ask again: nothing is read ahead.
    let mut reader = BufReader::new(stream);
    loop {
        let request = read(&mut reader)?;
        let range = request.header("range").map_or(String::new(), |range| format!(" {range}"));
        let query = if request.query.is_empty() { String::new() } else { format!("?{}", request.query) };
        let line = format!("{} {}{query}{range}", request.method, request.path);
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        let answer = handler(&request);
        let writer = reader.get_mut();
        let is_whole = answer.write(writer, request.method == "HEAD").and_then(|whole| writer.flush().map(|()| whole));
        if !is_whole.unwrap_or(false) {
            // The rest of the answer is never sent.
            let _ = socket.shutdown(std::net::Shutdown::Both);
            return None;
        }
    }
}

fn read(reader: &mut BufReader<impl Read>) -> Option<Request> {
    let mut line = String::new();
    reader.by_ref().take(1 << 16).read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.by_ref().take(1 << 16).read_line(&mut line).ok().filter(|read| *read > 0)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    // Through a proxy, the whole address is sent.
    let target = match target.strip_prefix("http://") {
        Some(rest) => rest.find('/').map_or("/".to_owned(), |at| rest[at..].to_owned()),
        None => target,
    };
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, length)| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0usize).min(MOST_BODY)];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path: path.to_owned(), query: query.to_owned(), headers, body })
}
