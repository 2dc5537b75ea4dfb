//! Ports for servers that take one as an argument: no other test that runs at the same time is given the same one.
//!
//! A port that the system gave for an instant may be anyone's a moment later, the source of some connection or another test's
//! server. These lie below the range from which the system gives ports itself, and each is reserved by an abstract socket
//! named after it, which lasts as long as the process that asked and is gone with it.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Mutex;

/// Below Linux's `ip_local_port_range`, above what services are known by.
const FIRST: u16 = 15_000;
const COUNT: u16 = 15_000;

/// Reservations of this process.
static HELD: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());

/// Returns a port that nothing listens on, reserved until this process ends.
pub fn free_port() -> u16 {
    // Processes begin at different places, so that they seldom meet.
    let begin = (std::process::id() as u16).wrapping_mul(97) % COUNT;
    let reserve = |port: u16| {
        let name = SocketAddr::from_abstract_name(format!("compass-tests-port-{port}")).ok()?;
        let reservation = UnixListener::bind_addr(&name).ok()?;
        TcpListener::bind(("127.0.0.1", port)).ok()?;
        HELD.lock().ok()?.push(reservation);
        Some(port)
    };
    let found = (0..COUNT).map(|step| FIRST + (begin + step) % COUNT).find_map(reserve);
    found.unwrap_or_else(|| unreachable!("no free port"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_given_once() {
        let ports: std::collections::BTreeSet<u16> = (0..50).map(|_| free_port()).collect();
        assert_eq!(ports.len(), 50);
        for port in ports {
            TcpListener::bind(("127.0.0.1", port)).unwrap();
        }
    }
}
