//! A mean TCP proxy: passes bytes on, late, not at all, or cuts the connections, as commanded at any moment.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The proxy's treatment of what passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    Pass,
    /// Every piece waits so long.
    Delay(Duration),
    /// Connections are accepted, and no byte passes in either direction: no end, no reset.
    HalfOpen,
    /// Connections are closed at once, old and new.
    Cut,
}

/// TCP proxy that delays, holds or cuts connections. Dropping it closes everything.
pub struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    target: String,
    mood: Mutex<Mood>,
    over: AtomicBool,
    connections: AtomicUsize,
}

/// Interval at which a connection looks at the mood.
const LOOK: Duration = Duration::from_millis(20);

impl Proxy {
    /// A proxy to `target` (`host:port`) on a free port on this host.
    pub fn start(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        });
        let (address, listener) = listener.unwrap_or_else(|error| unreachable!("no free port: {error}"));
        let state = Arc::new(State {
            target: target.into(),
            mood: Mutex::new(Mood::Pass),
            over: false.into(),
            connections: 0.into(),
        });
        let shared = state.clone();
        std::thread::spawn(move || accept(&listener, &shared));
        Self { address, state }
    }

    /// Returns the address on which it listens, `host:port`.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Connections that were made to it so far, those that it closed at once included.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::Relaxed)
    }

    /// Changes how bytes are treated from now on.
    pub fn set(&self, mood: Mood) {
        *self.state.mood.lock().unwrap_or_else(PoisonError::into_inner) = mood;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Relaxed);
    }
}

impl State {
    fn mood(&self) -> Mood {
        *self.mood.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

fn accept(listener: &TcpListener, state: &Arc<State>) {
    while !state.is_over() {
        let accepted = listener.accept();
        state.connections.fetch_add(usize::from(accepted.is_ok()), Ordering::Relaxed);
        match accepted {
            // Dropped: the other side sees the end.
            Ok(_) if state.mood() == Mood::Cut => {}
            Ok((near, _)) => {
                let state = state.clone();
                std::thread::spawn(move || connect(near, &state));
            }
            Err(_) => std::thread::sleep(LOOK),
        }
    }
}

fn connect(near: TcpStream, state: &Arc<State>) {
    // The listener does not block, and on some systems neither do its children.
    let Ok(far) = near.set_nonblocking(false).and_then(|()| TcpStream::connect(&state.target)) else { return };
    let (Ok(near_too), Ok(far_too)) = (near.try_clone(), far.try_clone()) else { return };
    let back = state.clone();
    std::thread::spawn(move || pass(far_too, near_too, &back));
    pass(near, far, state);
}

/// Carries bytes one way until either side ends, or the mood does it.
fn pass(mut from: TcpStream, mut to: TcpStream, state: &State) {
    let _ = from.set_read_timeout(Some(LOOK));
    let mut buffer = vec![0; 64 * 1024];
    while !state.is_over() && state.mood() != Mood::Cut {
        if state.mood() == Mood::HalfOpen {
            std::thread::sleep(LOOK);
            continue;
        }
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            Err(_) => break,
        };
        if let Mood::Delay(time) = state.mood() {
            std::thread::sleep(time);
        }
        // The mood may have turned while this side was reading.
        while state.mood() == Mood::HalfOpen && !state.is_over() {
            std::thread::sleep(LOOK);
        }
        if state.mood() == Mood::Cut {
            break;
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait_until;

    #[test]
    fn it_passes_holds_and_cuts() {
        let echo = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = echo.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for stream in echo.incoming().flatten() {
                std::thread::spawn(move || std::io::copy(&mut stream.try_clone().unwrap(), &mut &stream));
            }
        });
        let proxy = Proxy::start(&target);
        let mut stream = TcpStream::connect(proxy.address()).unwrap();
        let mut word = [0; 2];
        stream.write_all(b"ab").unwrap();
        stream.read_exact(&mut word).unwrap();
        assert_eq!(&word, b"ab");
        proxy.set(Mood::HalfOpen);
        stream.write_all(b"cd").unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        assert!(stream.read_exact(&mut word).is_err(), "nothing passes");
        proxy.set(Mood::Pass);
        stream.set_read_timeout(None).unwrap();
        stream.read_exact(&mut word).unwrap();
        assert_eq!(&word, b"cd", "nothing is lost");
        proxy.set(Mood::Cut);
        wait_until("the connection ends", || matches!(stream.read(&mut word), Ok(0) | Err(_)).then_some(()));
    }
}
