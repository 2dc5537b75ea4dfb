//! A relay between a client and a real server, which ends connections in the middle.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A relay on loopback, as long as the process lives.
pub struct Relay {
    address: SocketAddr,
    /// Number of connections that are still to be ended, each in the middle of the server's bytes.
    cuts: Arc<AtomicUsize>,
}

impl Relay {
    /// Relays to `target`; the next `cuts` connections that bring more than `most` bytes end there.
    ///
    /// # Errors
    /// No port is free.
    pub fn start(target: SocketAddr, most: usize, cuts: usize) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let cuts = Arc::new(AtomicUsize::new(cuts));
        let left = cuts.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let left = left.clone();
                std::thread::spawn(move || relay(client, target, most, &left));
            }
        });
        Ok(Self { address, cuts })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the number of connections that are still to be ended.
    pub fn cuts_left(&self) -> usize {
        self.cuts.load(Ordering::Relaxed)
    }
}

fn relay(client: TcpStream, target: SocketAddr, most: usize, left: &AtomicUsize) -> Option<()> {
    let server = TcpStream::connect(target).ok()?;
    let (mut from_client, mut to_server) = (client.try_clone().ok()?, server.try_clone().ok()?);
    std::thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let (mut from_server, mut to_client) = (server, client);
    let (mut buffer, mut brought) = (vec![0; 1 << 16], 0);
    loop {
        let read = from_server.read(&mut buffer).ok().filter(|read| *read > 0);
        let Some(read) = read else { break };
        brought += read;
        let is_cut = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        if brought > most && is_cut() {
            break;
        }
        to_client.write_all(buffer.get(..read)?).ok()?;
    }
    let _ = to_client.shutdown(Shutdown::Both);
    let _ = from_server.shutdown(Shutdown::Both);
    None
}
