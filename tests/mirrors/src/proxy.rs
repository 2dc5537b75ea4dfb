//! A proxy: tunnels for `CONNECT`, and requests with whole addresses handed on. It alone knows where the hosts of a test are.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

type Hosts = BTreeMap<String, SocketAddr>;

/// A proxy on loopback, as long as the process lives.
pub struct Proxy {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Starts one that reaches `hosts`, each `name:port`, at these addresses, and no other.
    ///
    /// # Errors
    /// No port is free.
    pub fn start<'n>(hosts: impl IntoIterator<Item = (&'n str, SocketAddr)>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let hosts: Arc<Hosts> = Arc::new(hosts.into_iter().map(|(name, at)| (name.to_owned(), at)).collect());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (hosts, seen) = (hosts.clone(), seen.clone());
                std::thread::spawn(move || serve(client, &hosts, &seen));
            }
        });
        Ok(Self { address, requests })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Method and target of every request so far: `CONNECT host:443`, `GET http://host/path`.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Serves a connection; an error is one of its ends'.
fn serve(client: TcpStream, hosts: &Hosts, seen: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut writer = client;
    let mut upstream: Option<(SocketAddr, TcpStream)> = None;
    loop {
        let (first, head) = head(&mut reader)?;
        let mut words = first.split_whitespace();
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{method} {target}"));
        let host = match target.strip_prefix("http://") {
            Some(rest) => {
                rest.split('/').next().map(|host| if host.contains(':') { host.into() } else { format!("{host}:80") })
            }
            None => Some(target.clone()),
        };
        let Some(&at) = host.as_ref().and_then(|host| hosts.get(host)) else {
            writer.write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n").ok()?;
            continue;
        };
        if method == "CONNECT" {
            let server = TcpStream::connect(at).ok()?;
            writer.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").ok()?;
            return tunnel(reader, writer, server);
        }
        // A server of these tests takes whole addresses, and ends each answer by its length.
        if upstream.as_ref().is_none_or(|(known, _)| *known != at) {
            upstream = Some((at, TcpStream::connect(at).ok()?));
        }
        let (_, server) = upstream.as_mut()?;
        server.write_all(format!("{first}{head}\r\n").as_bytes()).ok()?;
        let mut answers = BufReader::new(server.try_clone().ok()?);
        let (status, head) = self::head(&mut answers)?;
        let length = head
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse::<u64>().ok());
        writer.write_all(format!("{status}{head}\r\n").as_bytes()).ok()?;
        let sent = io::copy(&mut answers.take(length?), &mut writer).ok()?;
        if Some(sent) != length {
            let _ = writer.shutdown(Shutdown::Both);
            return None;
        }
    }
}

/// The first line of a request or of an answer, and its headers, each with its end.
fn head(reader: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let (mut first, mut rest) = (String::new(), String::new());
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if line.trim_end().is_empty() {
            return Some((first, rest));
        }
        rest.push_str(&line);
    }
}

/// Copies both ways until both are over.
fn tunnel(mut reader: BufReader<TcpStream>, mut writer: TcpStream, server: TcpStream) -> Option<()> {
    let mut to_server = server.try_clone().ok()?;
    std::thread::spawn(move || {
        let _ = io::copy(&mut reader, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let mut from_server = server;
    let _ = io::copy(&mut from_server, &mut writer);
    let _ = writer.shutdown(Shutdown::Both);
    Some(())
}
